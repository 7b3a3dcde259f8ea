#!/usr/bin/env bash
# Creates or completes .venv-ansible, the environment of the collection's tests and lint, from its hashed lock.
# It is not .venv: the bundle of Ansible is 500 MB, and nothing that runs in production needs it.
. "$(dirname "$0")/common.sh"

venv=.venv-ansible
lock=tests/ansible/requirements.lock
# Its place counts too: the scripts in it name their interpreter.
want=$({ pwd; cat "$lock"; } | sha256sum | cut -d" " -f1)
stamp=$venv/.made-from
[ "$(cat "$stamp" 2>/dev/null)" != "$want" ] || exit 0

python=$(find_python)
# One at a time: pip in two processes would leave half of each.
mkdir -p build
exec 9>build/.ansible_venv.lock
flock 9
[ "$(cat "$stamp" 2>/dev/null)" != "$want" ] || exit 0
if ! "$venv/bin/python" -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    rm -rf "$venv"
    "$python" -m venv "$venv" || die "$python cannot make a virtual environment."
fi
printf 'Installing %s into %s\n' "$lock" "$venv"
"$venv/bin/python" -m pip --disable-pip-version-check --no-input -qq install --require-hashes -r "$lock" || die "pip could not install $lock; its last lines are above."
printf '%s\n' "$want" >"$stamp"
