#!/usr/bin/env bash
# What tests need from npm and Maven, by name and version, once, into the cache. What cannot be had is said, and the tests that
# need it are left out: they say so too.
set -euo pipefail

# Versions that Debian 12's node 18 runs. tests/web/browser.mjs and tests/serve/mysql/driver.test look there.
node=${PROCPROF_NODE:-${XDG_CACHE_HOME:-$HOME/.cache}/procprof-dev/node}
wanted="playwright-core@1.57.0 axe-core@4.11.0 mysql2@3.11.5"
if [ "$(cat "$node/installed" 2>/dev/null)" != "$wanted" ]; then
    mkdir -p "$node"
    # shellcheck disable=SC2086
    if npm install --no-audit --no-fund --loglevel=error --prefix "$node" $wanted >"$node/npm.log" 2>&1; then
        echo "$wanted" > "$node/installed"
    else
        tail -3 "$node/npm.log" >&2
        echo "npm could not install $wanted: the tests of the page and of the MySQL driver will be left out" >&2
    fi
fi

# What the JFR tests compare with; a test that misses it says so and is skipped.
tools/maven-get tools.profiler:jfr-converter:4.5 d8a5452b26adb11a2a0abf0c53799a6fd60dbccb0647efa5a734e3c46ced3df4 >/dev/null || true
# A driver of the MySQL protocol: tests/serve/mysql/driver.test.
tools/maven-get com.mysql:mysql-connector-j:8.4.0 d77962877d010777cff997015da90ee689f0f4bb76848340e1488f2b83332af5 >/dev/null || true

# Databend's engine as a Python module: the largest real host of the agent's tests (176 MB of Rust).
databend=${XDG_CACHE_HOME:-$HOME/.cache}/procprof-dev/databend
if [ ! -f "$databend/installed" ]; then
    mkdir -p "$databend"
    if python3 -m venv "$databend" >"$databend/log" 2>&1 && "$databend/bin/pip" install --quiet --no-compile databend==1.2.453 >>"$databend/log" 2>&1; then
        touch "$databend/installed"
    else
        tail -3 "$databend/log" >&2
        echo "pip could not install databend: its engine will not be profiled in the tests" >&2
    fi
fi

# A Rust program with jemalloc inside (a minute on two cores). An older cargo would first fetch the list of all packages there are.
host=${XDG_CACHE_HOME:-$HOME/.cache}/procprof-dev/jemalloc-host
source=tests/e2e/agent_hosts/jemalloc
if [ "$(printf '%s\n' 1.70 "$(cargo --version 2>/dev/null | cut -d' ' -f2)" | sort -V | head -1)" = 1.70 ] &&
    ! { cmp -s "$source/src/main.rs" "$host/src/main.rs" && cmp -s "$source/Cargo.toml" "$host/Cargo.toml"; }; then
    mkdir -p "$host"
    rm -rf "$host/target/release/jemalloc_host"
    cp -r "$source/." "$host/"
    if ! (cd "$host" && timeout 600 cargo build --release --quiet -j2) >"$host/log" 2>&1; then
        tail -3 "$host/log" >&2
        echo "cargo could not build the Rust program with jemalloc: it will not be profiled in the tests (remove $host to try again)" >&2
    fi
fi
