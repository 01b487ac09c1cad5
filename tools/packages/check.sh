#!/usr/bin/env bash
# What `make check` needs from npm: the type checker of the page (tools/check-types), once, into the cache.
set -euo pipefail
check=${PROCPROF_NODE_CHECK:-${XDG_CACHE_HOME:-$HOME/.cache}/procprof-dev/node-check}
wanted="typescript@5.9.3"
[ "$(cat "$check/installed" 2>/dev/null)" != "$wanted" ] || exit 0
mkdir -p "$check"
npm install --no-audit --no-fund --loglevel=error --prefix "$check" "$wanted" >"$check/npm.log" 2>&1 ||
    { tail -3 "$check/npm.log" >&2; echo "npm could not install $wanted" >&2; exit 1; }
echo "$wanted" > "$check/installed"
