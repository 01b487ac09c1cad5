#!/usr/bin/env bash
# The sampling engine for JVMs and the database of the demo frontend, from Maven Central by artifact name. Without them (no Maven, no
# network) everything else works: JVMs are then profiled by their own flight recorder.
set -euo pipefail
cache=${XDG_CACHE_HOME:-$HOME/.cache}/procprof
library=$cache/async-profiler-4.5/libasyncProfiler.so
case $(uname -m) in x86_64) platform=linux-x64 ;; aarch64) platform=linux-arm64 ;; *) platform= ;; esac
if [ -n "$platform" ] && [ ! -f "$library" ]; then
    if jar=$(tools/maven-get tools.profiler:async-profiler:4.5 d0184907de67ca63363f1a6333c75eb7414fb3e13c564641304fe0fdca97363e); then
        mkdir -p "$(dirname "$library")"
        work=$(mktemp -d "$cache/.unpack.XXXXXX"); trap 'rm -rf "$work"' EXIT
        (cd "$work" && jar xf "$jar" "$platform/libasyncProfiler.so") && mv -f "$work/$platform/libasyncProfiler.so" "$library" ||
            echo "async-profiler could not be unpacked; JVMs will be profiled by their flight recorder" >&2
    else
        echo "async-profiler is not there; JVMs will be profiled by their flight recorder" >&2
    fi
fi
tools/maven-get com.h2database:h2:2.4.240 29b70e427cc1c40cdc376283adbb0cc62853073797bb5fe5761f81fe73d57ce0 >/dev/null ||
    echo "the demo frontend will run without H2" >&2
