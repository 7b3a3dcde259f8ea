#!/usr/bin/env bash
# Writes files/telebrowser/requirements.lock, requirements-dev.lock and requirements-view.lock, and tests/ansible/requirements.lock: every version with its
# hashes, for Python 3.11 and newer.
. "$(dirname "$0")/common.sh"

command -v uv >/dev/null || die "needs uv (pip install uv)."
cd files/telebrowser
compile() {
    local output=$1
    shift
    uv pip compile "$@" --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links \
        --no-annotate --custom-compile-command "make lock" --quiet --output-file "$output" "${upgrade[@]}"
}
upgrade=()
[ "${1:-}" != --upgrade ] || upgrade=(--upgrade)
compile requirements.lock pyproject.toml --group build
# The tools are locked on top of what runs, so that both locks name the same versions.
compile requirements-dev.lock pyproject.toml --group build --group dev --constraint requirements.lock
# The view's package and what it needs, to be added to either, or to an environment of its own.
python3 -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["view"], sep="\n")' |
    compile requirements-view.lock - --constraint requirements.lock
cd ../../tests/ansible
compile requirements.lock requirements.in
