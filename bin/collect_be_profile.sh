#!/usr/bin/env bash
# Collects CPU and contention profiles of this host's StarRocks backend, compute node, or any server with pprof endpoints. Options, files, log,
# pid file and exit codes are those of StarRocks' script of the same name. `procprof collect` does the work.
set -u

home=${STARROCKS_HOME:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)}
export STARROCKS_HOME=$home
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

usage() {
    cat <<TEXT
Usage: ${0##*/} [OPTIONS]
  --profiling-type cpu|contention|both  what to collect (cpu)
  --duration SECONDS                    length of one capture (10)
  --interval SECONDS                    time between captures with --daemon (60, or COLLECT_BE_PROFILE_INTERVAL of the environment or be.conf)
  --output-dir DIR                      profiles go into DIR/proc_profile (sys_log_dir of be.conf, else \$STARROCKS_HOME/log)
  --be-conf FILE                        be.conf or cn.conf (\$STARROCKS_HOME/conf/be.conf)
  --brpc-port PORT                      brpc port of the backend (brpc_port of be.conf, else 8060)
  --cleanup-days DAYS                   remove profiles older than this (1)
  --cleanup-size BYTES                  remove the oldest profiles until all take less (2147483648)
  --daemon                              repeat in the background
  --help                                this text
TEXT
    exit 1
}

fail() {
    echo "[ERROR] $*" >&2
    exit 1
}

procprof=${PROCPROF_PROGRAM:-}
for candidate in "$here/procprof" "$here/../build/procprof" "$(command -v procprof 2>/dev/null)"; do
    [ -n "$procprof" ] || { [ -x "$candidate" ] && procprof=$candidate; }
done
[ -n "$procprof" ] && [ -x "$procprof" ] || fail "procprof is neither beside this script nor in PATH; install it or set PROCPROF_PROGRAM"

options=() conf= output= daemon= type=cpu
while [ $# -gt 0 ]; do
    case $1 in
    --help) usage ;;
    --daemon) daemon=1 ;;
    --daemon-internal) options+=(--loop) ;; # StarRocks' own way of starting the second half
    --profiling-type | --duration | --interval | --output-dir | --be-conf | --brpc-port | --cleanup-days | --cleanup-size)
        [ $# -ge 2 ] || { echo "$1 needs a value" >&2; usage; }
        case $1 in
        --be-conf) conf=$2 ;;
        --output-dir) output=$2 ;;
        --profiling-type) type=$2 ;;
        *)
            case $2 in '' | *[!0-9]*) fail "$1 must be a whole number, not '$2'" ;; esac
            options+=("$1" "$2")
            ;;
        esac
        shift
        ;;
    *)
        echo "unknown option: $1" >&2
        usage
        ;;
    esac
    shift
done
case $type in cpu | contention | both) ;; *) fail "invalid profiling type '$type': must be cpu, contention or both" ;; esac
[ -z "$conf" ] || [ -f "$conf" ] || fail "no such file: $conf (--be-conf)"
conf=${conf:-$home/conf/be.conf}
[ -d "$home" ] || fail "STARROCKS_HOME is not a folder: $home"

options+=(--profiling-type "$type")
[ -f "$conf" ] && options+=(--be-conf "$conf")
[ -z "$output" ] || options+=(--output-dir "$output")
if [ -n "$daemon" ]; then
    log_dir=$output
    # shellcheck disable=SC2016
    [ -n "$log_dir" ] || log_dir=$([ -f "$conf" ] && sed -n 's/^[[:space:]]*sys_log_dir[[:space:]]*=[[:space:]]*//p' "$conf" | tail -1 | sed "s|\${STARROCKS_HOME}|$home|g; s/[[:space:]]*$//")
    [ -n "$log_dir" ] || log_dir=$home/log
    mkdir -p "$log_dir" "$home/bin" 2>/dev/null
    [ -w "$log_dir" ] || fail "cannot write to the log folder $log_dir"
    [ -w "$home/bin" ] || fail "cannot write to the folder of the pid file $home/bin"
    options+=(--daemon --pid-file "$home/bin/collect_be_profile.pid" --log-file "$log_dir/collect_be_profile.log")
fi
exec "$procprof" collect "${options[@]}"
