#!/usr/bin/env bash
# Lays the collection as Ansible wants it, in build/ansible_collections/telebrowser/telebrowser, and prints the folder for ANSIBLE_COLLECTIONS_PATH.
# It holds what the tarball holds and the tests that ansible-test runs; the repository's other tests are not Ansible's. Called again it brings the copy
# up to date, file by file, so that a run that uses it goes on.
. "$(dirname "$0")/common.sh"

parts=(galaxy.yml README.md LICENSE LICENSES CHANGELOG.rst changelogs docs examples files meta playbooks plugins roles
    tests/config.yml tests/integration tests/sanity tests/unit/plugins)
copy=build/ansible_collections/telebrowser/telebrowser
mkdir -p "$copy"
# ansible-test lists the files by git, and for the repository around it all that lies in build is ignored.
[ -d "$copy/.git" ] || git -c init.defaultBranch=main init -q "$copy"
exec 9>build/.collection.lock
flock 9

wanted=$(mktemp)
trap 'rm -f "$wanted"' EXIT
# What git ignores is left out, what is new is in; a file that was removed and not committed yet is gone.
git ls-files -z --cached --others --exclude-standard -- "${parts[@]}" | while IFS= read -r -d "" file; do
    [ ! -e "$file" ] || printf '%s\n' "$file"
done | sort >"$wanted"
xargs -r -d '\n' cp -u --preserve=mode,timestamps --parents -t "$copy" <"$wanted"
(cd "$copy" && find . \( -path ./tests/output -o -path ./tests/integration/integration_config.yml -o -path ./.git \) -prune -o -type f -name '*.pyc' -prune -o \( -type f -o -type l \) -print | sed 's|^\./||' | sort) |
    comm -13 "$wanted" - | (cd "$copy" && xargs -r -d '\n' rm -f)
find "$copy" -path "$copy/.git" -prune -o -type d -empty -exec rmdir -p --ignore-fail-on-non-empty {} + 2>/dev/null || true
printf '%s\n' "$PWD/build"
