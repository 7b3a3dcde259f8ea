#!/usr/bin/env bash
# Runs ansible-test on the copy of the collection: ansible_test.sh sanity|units|integration [its options].
. "$(dirname "$0")/common.sh"
. scripts/ansible_env.sh

command=$1
shift
seed_pip
top=$PWD
cd "$collection"
case $command in
    # --local everywhere: the images of --docker come from a registry, and what is tested here runs on any Linux.
    sanity) exec ansible-test sanity --local --color no "$@" ;;
    units) exec ansible-test units --local --color no --python "$(python -c 'import sys; print("%d.%d" % sys.version_info[:2])')" "$@" ;;
    integration)
        printf '{"telebrowser_test_launcher": "%s", "telebrowser_test_python": "%s"}\n' "$top/.venv/bin/telebrowser" "$top/.venv/bin/python" \
            >tests/integration/integration_config.yml
        exec ansible-test integration --local --color no --python "$(python -c 'import sys; print("%d.%d" % sys.version_info[:2])')" "$@"
        ;;
    *) die "unknown: $command" ;;
esac
