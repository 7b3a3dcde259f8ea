#!/usr/bin/env bash
# Every check of the collection that deploys nothing: lint, docs, changelog, sanity, units, the collection as a whole, and modules on a real stack.
# ansible_gate.sh [STEP…]: only these. Each step's output is shown when it fails, and its seconds in any case.
. "$(dirname "$0")/common.sh"
. scripts/ansible_env.sh

top=$PWD
logs=$top/build/ansible-logs
mkdir -p "$logs"
wanted=("$@")

# Files of the distribution are not for ansible-test: they run on Python 3.11 and have ruff, mypy and tests of their own.
sanity() { scripts/ansible_test.sh sanity --exclude files/; }
units() { scripts/ansible_test.sh units; }
integration() { scripts/ansible_test.sh integration; }
lint() { ansible-lint --offline --profile production --strict --nocolor --format pep8; }
changelog() { cd "$collection" && antsibull-changelog lint; }
docs() { cd "$collection" && antsibull-docs lint-collection-docs --plugin-docs --validate-collection-refs=self .; }
whole() { python -m pytest -c tests/ansible/pytest.ini --rootdir . tests/ansible; }

step() {
    local name=$1 start=$SECONDS
    [ ${#wanted[@]} -eq 0 ] || [[ " ${wanted[*]} " == *" $name "* ]] || return 0
    if ("$name") >"$logs/$name.log" 2>&1 </dev/null; then
        printf 'ansible: %-12s ok, %d s\n' "$name" $((SECONDS - start))
    else
        grep -v '^WARNING: Location ' "$logs/$name.log" | tail -n 200 >&2
        printf 'ansible: %-12s FAILED after %d s; all of its output is in %s\n' "$name" $((SECONDS - start)) "$logs/$name.log" >&2
        return 1
    fi
}

# Two lanes, as most machines have two cores at least; what starts browsers comes after, alone.
(
    for name in sanity units; do step "$name" || exit 1; done
) &
lane=$!
failed=0
for name in lint changelog docs whole; do step "$name" || failed=1; done
wait "$lane" || failed=1
[ "$failed" -eq 0 ] || exit 1
# Its targets make files of other users and mount disks.
if [ "$(id -u)" -eq 0 ]; then
    step integration
else
    printf 'ansible: %-12s LEFT OUT, it needs root\n' integration
fi
