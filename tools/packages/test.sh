#!/usr/bin/env bash
# What tests need from npm, by name and version, once, into the cache (tests/web/browser.mjs and tests/mysql/driver.test look there).
# Versions that Debian 12's node 18 runs. Without npm or a network the tests say so and are left out.
set -euo pipefail
node=${PROCPROF_NODE:-${XDG_CACHE_HOME:-$HOME/.cache}/procprof-dev/node}
wanted="playwright-core@1.57.0 axe-core@4.11.0 mysql2@3.11.5"
[ "$(cat "$node/installed" 2>/dev/null)" != "$wanted" ] || exit 0
mkdir -p "$node"
# shellcheck disable=SC2086
npm install --no-audit --no-fund --loglevel=error --prefix "$node" $wanted >"$node/npm.log" 2>&1 ||
    { tail -3 "$node/npm.log" >&2; echo "npm could not install $wanted: the tests of the page and of the MySQL driver will be left out" >&2; exit 0; }
echo "$wanted" > "$node/installed"

# What the JFR tests compare with; a test that misses it says so and is skipped.
tools/maven-get tools.profiler:jfr-converter:4.5 d8a5452b26adb11a2a0abf0c53799a6fd60dbccb0647efa5a734e3c46ced3df4 >/dev/null || true
