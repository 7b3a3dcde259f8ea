#!/usr/bin/env bash
# All tests of the services, in two lanes beside each other: what a container engine deploys, and the rest.
# test.sh [OPTION…]: options of pytest for both. SCENARIOS: molecule scenarios that are deployed in the first lane too, when its tests have passed.
. "$(dirname "$0")/common.sh"

logs=build/test-logs
mkdir -p "$logs"
deployed=(tests/containers tests/plays)

# A lane in which the options leave no test (code 5) has not failed.
tests() {
    local code=0
    .venv/bin/python -m pytest "$@" || code=$?
    [ "$code" -eq 5 ] || return "$code"
}

lane() {
    # The two would write the same cache.
    tests -p no:cacheprovider "${deployed[@]}" "$@" || return
    [ -z "${SCENARIOS:-}" ] || scripts/molecule.sh $SCENARIOS
}

start=$SECONDS
# A process group of its own, so that all of it can be ended.
set -m
lane "$@" >"$logs/deployed.log" 2>&1 </dev/null &
beside=$!
set +m
trap 'kill -- "-$beside" 2>/dev/null || true' EXIT
failed=0
tests "${deployed[@]/#/--ignore=}" "$@" || failed=1
printf 'deployed: waiting for its end; %s grows\n' "$logs/deployed.log"
if wait "$beside"; then
    grep -E '^(=+ .*passed|molecule: )' "$logs/deployed.log" || true
    printf 'deployed: ok, %d s\n' $((SECONDS - start))
else
    tail -n 400 "$logs/deployed.log" >&2
    printf 'deployed: FAILED after %d s; all of its output is in %s\n' $((SECONDS - start)) "$logs/deployed.log" >&2
    failed=1
fi
trap - EXIT
exit "$failed"
