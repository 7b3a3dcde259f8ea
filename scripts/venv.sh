#!/usr/bin/env bash
# Creates or completes .venv from the hashed locks. venv.sh [dev]: with the tools for tests and lint.
. "$(dirname "$0")/common.sh"

source=files/telebrowser
lock=$source/requirements${1:+-$1}.lock
# The environment is good while the stamp holds the hash of all that it was made from, its place included (scripts in it name their interpreter).
want=$({ pwd; cat "$lock" $source/pyproject.toml; } | sha256sum | cut -d" " -f1)
stamp=.venv/.made-from-${1:-run}
[ "$(cat "$stamp" 2>/dev/null)" != "$want" ] || exit 0

python=$(find_python)
if ! .venv/bin/python -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    rm -rf .venv
    "$python" -m venv .venv || die "$python cannot make a virtual environment."
fi
printf 'Installing %s into .venv\n' "$lock"
pip=(.venv/bin/python -m pip --disable-pip-version-check --no-input -q)
"${pip[@]}" install --require-hashes -r "$lock"
"${pip[@]}" install --no-deps --no-build-isolation -e $source
printf '%s\n' "$want" >"$stamp"
