#!/usr/bin/env bash
# build.sh [SUITE] builds telebrowser-test/systemd-SUITE:1, a bare Debian (trixie, or bookworm) that boots with systemd. Needs root, a running Docker
# Engine and mmdebstrap; half a minute. Does nothing when the image is there and was built from these files.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
suite=${1:-trixie}
image=telebrowser-test/systemd-$suite:1
hash=$(sha256sum <"$here/build.sh" | cut -c1-16)
[ "$(docker image inspect -f '{{ index .Config.Labels "telebrowser.inputs" }}' "$image" 2>/dev/null)" != "$hash" ] || exit 0

command -v mmdebstrap >/dev/null || { echo "build.sh: mmdebstrap is missing; run: apt-get install mmdebstrap" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# As little as a machine can be that Ansible reaches: what the roles need beyond it is theirs to install.
mmdebstrap --quiet --variant=minbase --include=systemd,systemd-sysv,dbus,python3,ca-certificates,iproute2,procps \
    "$suite" "$work/root.tar"
docker import -c 'CMD ["/sbin/init"]' -c 'ENV container=docker' -c "LABEL telebrowser.inputs=$hash" "$work/root.tar" "$image" >/dev/null
echo "built $image"
