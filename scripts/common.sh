# What the scripts here share. Source it; it changes into the top of the repository.
# shellcheck shell=bash

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

die() {
    printf '%s: %s\n' "$(basename "$0")" "$1" >&2
    exit 1
}

# The first Python of at least 3.11, as the path of the interpreter itself: a shim in PATH would cost every start of a verb.
find_python() {
    local name found
    for name in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
        found=$("$name" -c 'import os, sys; print(os.path.realpath(sys.executable) if sys.version_info >= (3, 11) else "")' 2>/dev/null) || continue
        if [ -n "$found" ]; then
            printf '%s\n' "$found"
            return
        fi
    done
    [ -z "${PYTHON:-}" ] || die "PYTHON=$PYTHON is not a working Python of at least 3.11."
    die "needs Python 3.11 or newer; found $(python3 --version 2>/dev/null || echo 'no python3'). Install one, or set PYTHON to its path."
}

installed() {
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Packages that are missing, of those that a running stack needs.
missing_packages() {
    local package wanted=(xvfb openbox tigervnc-standalone-server novnc bubblewrap fontconfig fonts-liberation fonts-noto-cjk fonts-noto-color-emoji)
    # A browser that the operator names is used as it is.
    [ -n "${CHROMIUM_PATH:-}" ] || wanted+=(chromium chromium-sandbox)
    for package in "${wanted[@]}"; do
        installed "$package" || printf '%s\n' "$package"
    done
    # Only Debian's own Python has its venv module in a package of its own.
    if ! "$1" -c 'import ensurepip, venv' 2>/dev/null; then
        case "$1" in
            /usr/bin/*) printf '%s-venv\n' "$(basename "$1")" ;;
            *) die "$1 has no venv module; install it, or set PYTHON to a Python that has one." ;;
        esac
    fi
}
