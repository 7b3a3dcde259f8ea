#!/usr/bin/env bash
# Deploys the collection for real, on the Docker Engine of this machine, and tears it down again: molecule.sh [SCENARIO…], by default all of them.
. "$(dirname "$0")/common.sh"
. scripts/ansible_env.sh

docker version --format '{{.Server.Version}}' >/dev/null 2>&1 || die "no Docker Engine answers; start one: scripts/engine.sh up (as root)"
tests/standin-image/build.sh
# An engine that is only ours may be restarted by the scenario; one that was here before is left alone, and the scenario says so.
if scripts/engine.sh ours; then
    export TELEBROWSER_ENGINE_PIDFILE=$PWD/build/engine.pid TELEBROWSER_ENGINE_COMMAND="[\"$PWD/scripts/engine.sh\", \"up\"]"
fi

scenarios=("$@")
if [ ${#scenarios[@]} -eq 0 ]; then
    for file in molecule/*/molecule.yml; do
        scenarios+=("$(basename "$(dirname "$file")")")
    done
fi
for scenario in "${scenarios[@]}"; do
    start=$SECONDS
    molecule test --scenario-name "$scenario" </dev/null
    printf 'molecule: %-10s ok, %d s\n' "$scenario" $((SECONDS - start))
done
