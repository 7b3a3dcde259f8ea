#!/usr/bin/env bash
# Installs what Debian has to give for a running stack. Not root: prints the one line that does it, and stops.
. "$(dirname "$0")/common.sh"

command -v dpkg-query >/dev/null || die "this is not Debian: install Chromium, Xvfb, openbox and fonts by hand, then run 'make venv' and 'telebrowser up'."
list=$(missing_packages "$(find_python)")
[ -n "$list" ] || exit 0
mapfile -t missing <<<"$list"

if [ "$(id -u)" -ne 0 ]; then
    printf 'These packages are missing. Run this, then make again:\n  sudo apt-get update && sudo apt-get install --no-install-recommends -y %s\n' "${missing[*]}" >&2
    exit 1
fi
printf 'Installing %s\n' "${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
if ! { apt-get update -qq && apt-get install -qq -y --no-install-recommends "${missing[@]}"; } </dev/null >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    die "apt-get failed; its last lines are above."
fi
