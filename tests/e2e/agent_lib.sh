# shellcheck shell=bash disable=SC2034
# What the tests of the agent share: sourced after `plan=N`. Prints TAP, keeps a folder $work, ends what it started.
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
B=$(realpath "${B:-build}")
work=$(mktemp -d)
started=() # process ids of ours
n=0
cleanup() {
    local p
    for p in "${started[@]}"; do kill -KILL "$p" 2>/dev/null; done
    wait 2>/dev/null
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 1' INT TERM
echo "1..$plan"

result() { # STATUS NAME
    n=$((n + 1))
    if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; fi
}
skip() { # NAME REASON
    n=$((n + 1))
    echo "ok $n - $1 # skip $2"
}
show() { # FILE...
    local f
    for f in "$@"; do [ ! -e "$f" ] || { echo "# --- ${f##*/}"; head -50 "$f" | cut -c1-300 | sed 's/^/#   /'; }; done
}

# Tries up to three times: the machine may be busy, samples are few.
attempts() { # COMMAND...
    local i
    for i in 1 2 3; do "$@" && return 0; sleep 1; done
    return 1
}

wait_for() { # SECONDS COMMAND...
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.1
    done
}

start_demo() { # OPTIONS... sets $pid and $port
    rm -f "$work/demo" # An earlier demo_be may have written its port there.
    "$B/demo_be" --listen 127.0.0.1:0 "$@" >"$work/demo" 2>&1 &
    pid=$!
    started+=("$pid")
    wait_for 20 grep -q 'profiles at port' "$work/demo"
    port=$(sed -n 's/.*at port \([0-9]*\),.*/\1/p' "$work/demo")
}

# Any program with the library in it, not rebuilt: sets $pid and $port. SETTINGS may be "".
start_preloaded() { # SETTINGS COMMAND...
    local settings=$1
    shift
    LD_PRELOAD="$B/libprocprof.so${LD_PRELOAD:+:$LD_PRELOAD}" PROCPROF="listen=127.0.0.1:0,portfile=$work/port.%p${settings:+,$settings}" \
        "$@" >"$work/host" 2>&1 &
    pid=$!
    started+=("$pid")
    wait_for 30 test -s "$work/port.$pid" || return 1 # by process id: what the host starts has the library too
    port=$(cat "$work/port.$pid")
}

stop() { # PID: ends it and says how it ended
    kill -TERM "$1" 2>/dev/null
    wait "$1" 2>/dev/null
}

get() { # PATH [CURL-OPTIONS]
    local path=$1
    shift
    curl -sS --max-time 120 "$@" "http://127.0.0.1:$port$path"
}
