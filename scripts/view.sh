#!/usr/bin/env bash
# Creates .venv-view, an environment that holds nothing but the view's package Selkies and what it needs, from its hashed lock.
. "$(dirname "$0")/common.sh"

lock=files/telebrowser/requirements-view.lock
want=$({ pwd; cat "$lock"; } | sha256sum | cut -d" " -f1)
stamp=.venv-view/.made-from
[ "$(cat "$stamp" 2>/dev/null)" != "$want" ] || exit 0

rm -rf .venv-view
"$(find_python)" -m venv .venv-view || die "no virtual environment can be made."
printf 'Installing %s into .venv-view\n' "$lock"
.venv-view/bin/python -m pip --disable-pip-version-check --no-input -q install --require-hashes -r "$lock"
printf '%s\n' "$want" >"$stamp"
