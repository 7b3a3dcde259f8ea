#!/usr/bin/env bash
# The collection on the releases of ansible-core that it says it runs on: syntax of every playbook, unit tests, a check run of the site playbook, and the
# modules on each Python of managed hosts that is at hand. ansible_matrix.sh [2.17 2.19 2.21]. What cannot be run here is listed as such.
. "$(dirname "$0")/common.sh"
. scripts/ansible_env.sh

top=$PWD
# The Python that a release of ansible-core is run with: 2.21 needs 3.12 at least.
declare -A pythons=([2.17]=3.11 [2.18]=3.11 [2.19]=3.11 [2.20]=3.13 [2.21]=3.13)
# The collections that ours depends on, and no others, as they come with the bundle.
bundle=$(.venv-ansible/bin/python -c 'import ansible_collections; print(list(ansible_collections.__path__)[0])')
needs=$top/build/matrix/needs/ansible_collections
mkdir -p "$needs"
for name in ansible/posix community/docker community/library_inventory_filtering_v1 containers/podman; do
    mkdir -p "$needs/${name%/*}"
    ln -sfn "$bundle/$name" "$needs/$name"
done
collections=$ANSIBLE_COLLECTIONS_PATH:$top/build/matrix/needs
failed=0
not_run=()

prepare() {
    local core=$1 python
    python=$(command -v "python${pythons[$core]}") || return 1
    python=$("$python" -c 'import os, sys; print(os.path.realpath(sys.executable))')
    venv=$top/build/matrix/$core
    if [ ! -x "$venv/bin/ansible-test" ]; then
        rm -rf "$venv"
        "$python" -m venv "$venv"
        "$venv/bin/python" -m pip install -qq --disable-pip-version-check "ansible-core==$core.*" requests pyyaml pytest pytest-mock pytest-xdist
    fi
}

try() {
    local title=$1 start=$SECONDS log
    shift
    log=build/ansible-logs/matrix.log
    mkdir -p build/ansible-logs
    if "$@" >"$top/$log" 2>&1 </dev/null; then
        printf '%-5s %-32s ok, %d s\n' "$core" "$title" $((SECONDS - start))
    else
        tail -n 40 "$top/$log" >&2
        printf '%-5s %-32s FAILED\n' "$core" "$title" >&2
        failed=1
    fi
}

syntax() {
    local playbook
    for playbook in playbooks/*.yml; do
        "$venv/bin/ansible-playbook" -i localhost, --syntax-check "telebrowser.telebrowser.$(basename "$playbook" .yml)" || return 1
    done
}
units() { (cd "$collection" && PATH=$venv/bin:$PATH "$venv/bin/ansible-test" units --local --color no --python "${pythons[$core]}"); }
check_run() {
    local place status=0
    place=$(mktemp -d)
    "$venv/bin/ansible-playbook" -i tests/ansible/inventory_check.yml --check --diff -e "ansible_python_interpreter=$venv/bin/python" -e "place=$place" \
        telebrowser.telebrowser.site || status=1
    # A check run changes nothing.
    [ -z "$(ls -A "$place")" ] || status=1
    rm -rf "$place"
    return "$status"
}
on_python() {
    local place status=0
    place=$(mktemp -d)
    "$venv/bin/ansible-playbook" -i localhost, -c local -e "ansible_python_interpreter=$1" -e "place=$place" tests/ansible/modules_on_python.yml || status=1
    rm -rf "$place"
    return "$status"
}

for core in "${@:-2.17 2.19 2.21}"; do
    # shellcheck disable=SC2086 # the default is a list
    for core in $core; do
        [ -n "${pythons[$core]:-}" ] || die "no Python is named here for ansible-core $core"
        if ! prepare "$core"; then
            not_run+=("ansible-core $core: no python${pythons[$core]}")
            continue
        fi
        ANSIBLE_COLLECTIONS_PATH=$collections
        printf '%-5s %s on %s\n' "$core" "$("$venv/bin/ansible" --version | sed -n '1s/.*\[\(.*\)\].*/\1/p')" "$("$venv/bin/python" --version)"
        try "syntax of the playbooks" syntax
        try "unit tests" units
        if docker version >/dev/null 2>&1; then
            try "check run of site" check_run
        else
            not_run+=("ansible-core $core: the check run of site, since no Docker Engine answers")
        fi
        # The oldest that this release still manages, to the newest at hand.
        for version in $("$venv/bin/python" -c 'import pathlib, re, ansible_test._util.target.common.constants as c; print(*c.REMOTE_ONLY_PYTHON_VERSIONS, *c.CONTROLLER_PYTHON_VERSIONS)'); do
            if python=$(command -v "python$version") && "$python" -c pass 2>/dev/null; then
                try "modules on Python $version" on_python "$python"
            else
                not_run+=("ansible-core $core: modules on Python $version, which is not at hand")
            fi
        done
    done
done
for line in "${not_run[@]}"; do printf 'not run: %s\n' "$line"; done
exit "$failed"
