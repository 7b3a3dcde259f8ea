#!/usr/bin/env bash
# Installs the foreign clients of tests/clients from their lock, without their install scripts: no browser is fetched.
# Without Node 20 and npm their journeys are left out of the tests, unless --required is given.
. "$(dirname "$0")/common.sh"

cd tests/clients
want=$(sha256sum <package-lock.json | cut -d" " -f1)
stamp=node_modules/.made-from
[ "$(cat "$stamp" 2>/dev/null)" != "$want" ] || exit 0

if ! command -v npm >/dev/null || [ "$(node -p 'process.versions.node.split(".")[0]' 2>/dev/null || echo 0)" -lt 20 ]; then
    [ "${1:-}" != --required ] || die "the journeys of foreign clients need Node 20 or newer with npm."
    printf 'No Node 20 with npm here: the journeys of foreign clients are left out.\n'
    exit 0
fi
printf 'Installing the clients of tests/clients\n'
export PUPPETEER_SKIP_DOWNLOAD=1 PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1
npm ci --ignore-scripts --no-audit --no-fund --loglevel=error || die "npm ci failed."
# npm leaves out the executable bit of what an install script would have placed.
chmod +x node_modules/agent-browser/bin/agent-browser-linux-*
printf '%s\n' "$want" >"$stamp"
