#!/usr/bin/env bash
# A Docker Engine for the tests: engine.sh up starts one where none answers, engine.sh down ends the one that it started, and no other;
# engine.sh ours says whether there is such a one.
. "$(dirname "$0")/common.sh"

pid_file=build/engine.pid
log=build/engine.log

answers() { docker version --format '{{.Server.Version}}' >/dev/null 2>&1; }

# The process that we started, by its start time too: a pid alone may be somebody else's by now.
ours() {
    local pid start
    [ -s "$pid_file" ] && [ -s "$pid_file.start" ] || return 1
    pid=$(<"$pid_file")
    start=$(<"$pid_file.start")
    [ "$start" = "$(started "$pid")" ] || return 1
    printf '%s\n' "$pid"
}
started() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }

case ${1:-} in
    up)
        answers && exit 0
        command -v dockerd >/dev/null || die "there is no dockerd; apt-get install docker.io"
        [ "$(id -u)" -eq 0 ] || die "only root can start an engine; start one, or run this as root"
        mkdir -p build
        setsid dockerd >"$log" 2>&1 </dev/null &
        pid=$!
        printf '%s\n' "$pid" >"$pid_file"
        started "$pid" >"$pid_file.start"
        # dockerd says so on its socket only, so it is asked.
        for _ in $(seq 120); do
            if answers; then
                printf 'started an engine, process %s\n' "$pid"
                exit 0
            fi
            [ -d "/proc/$pid" ] || break
            sleep 0.5
        done
        tail -n 20 "$log" >&2
        die "dockerd does not answer; the end of its log is above."
        ;;
    down)
        pid=$(ours) || exit 0
        kill "$pid"
        # It stops its containers first.
        timeout 60 tail --pid="$pid" -f /dev/null || die "dockerd, process $pid, has not ended within 60 s"
        rm -f "$pid_file" "$pid_file.start"
        ;;
    ours) ours >/dev/null ;;
    *) die "engine.sh up|down|ours" ;;
esac
