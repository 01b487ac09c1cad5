#!/usr/bin/env bash
# The peers that no Debian package holds: the newest google/pprof (Go module proxy) and inferno (crates.io), once, into the cache.
set -euo pipefail
peers=${PROCPROF_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/procprof-dev/peers}
mkdir -p "$peers/bin"
get() { # NAME COMMAND...: run the command unless the program is there
    local name=$1; shift
    [ ! -x "$peers/bin/$name" ] || return 0
    echo "getting $name" >&2
    "$@" >"$peers/$name.log" 2>&1 || { tail -3 "$peers/$name.log" >&2; echo "$name could not be built; its benchmarks will be left out" >&2; }
}
get pprof env GOBIN="$peers/bin" go install github.com/google/pprof@latest
get inferno-flamegraph cargo install --root "$peers" inferno

# Flame graphs of others, for make bench-web.
web=${PROCPROF_PEERS_WEB:-${XDG_CACHE_HOME:-$HOME/.cache}/procprof-dev/peers-web}
wanted="speedscope@1.25.0 d3-flame-graph@5.0.0 d3@7.9.0"
if [ "$(cat "$web/installed" 2>/dev/null)" != "$wanted" ]; then
    mkdir -p "$web"
    # shellcheck disable=SC2086
    if npm install --no-audit --no-fund --loglevel=error --prefix "$web" $wanted >"$web/npm.log" 2>&1; then echo "$wanted" > "$web/installed"
    else tail -3 "$web/npm.log" >&2; echo "npm could not install $wanted; bench-web will leave them out" >&2; fi
fi
