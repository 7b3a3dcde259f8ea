# What every script of the collection's tests needs. Source it after common.sh: it makes .venv-ansible and the copy of the collection, and sets
# ANSIBLE_COLLECTIONS_PATH, the folder of the copy in $collection, and a PATH that finds real interpreters.
# shellcheck shell=bash

scripts/ansible_venv.sh
ANSIBLE_COLLECTIONS_PATH=$(scripts/collection.sh)
collection=$ANSIBLE_COLLECTIONS_PATH/ansible_collections/telebrowser/telebrowser
export ANSIBLE_COLLECTIONS_PATH
# Nothing of the caller's own configuration of Ansible may decide a test.
export ANSIBLE_CONFIG=$PWD/tests/ansible/ansible.cfg ANSIBLE_NOCOLOR=1 ANSIBLE_LOCALHOST_WARNING=false ANSIBLE_INVENTORY_UNPARSED_WARNING=false

# pyenv's shims are found for versions that are not chosen, and fail then; the interpreters themselves work.
real_path=$PWD/.venv-ansible/bin
while IFS= read -r -d: folder; do
    case $folder in */shims | "$PWD/.venv-ansible/bin" | "") ;; *) real_path+=:$folder ;; esac
done <<<"$PATH:"
for folder in "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin; do
    [ ! -d "$folder" ] || real_path+=:$folder
done
export PATH=$real_path

# ansible-test downloads get-pip.py once; where it is out of reach, the wheel from the package index does the same.
seed_pip() {
    local cache=$HOME/.ansible/test/cache version file
    version=$(.venv-ansible/bin/python -c 'import re, sys
from ansible_test._internal import python_requirements as r
print(re.search(r"pip=.([0-9.]+)", open(r.__file__, encoding="utf-8").read()).group(1))')
    file=$cache/get_pip_${version//./_}.py
    [ ! -s "$file" ] || return 0
    mkdir -p "$cache"
    .venv-ansible/bin/python -m pip -qq --disable-pip-version-check download --no-deps -d "$cache" "pip==$version"
    cp tests/ansible/get_pip.py "$file"
}
