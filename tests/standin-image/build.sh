#!/usr/bin/env bash
# Builds the images that the container tests and the molecule scenarios run on, unless they are there and their inputs are unchanged:
#   telebrowser-test/chromium-standin:1   in place of lscr.io/linuxserver/chromium
#   telebrowser-test/python-base:1        in place of python:3-slim, which the gateway's image is built on
# Needs root, a running Docker Engine, mmdebstrap and pip. About 3 minutes from nothing, a second afterwards.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
base=telebrowser-test/trixie-min:1
label=telebrowser-test.inputs
authorities=${PIP_CERT:-/etc/ssl/certs/ca-certificates.crt}

docker version --format '{{.Server.Version}}' >/dev/null 2>&1 ||
  { echo "no Docker Engine answers; start one: apt-get install docker.io mmdebstrap && dockerd >/tmp/dockerd.log 2>&1 &" >&2; exit 1; }

# Two runs at once would build everything twice.
exec 9>/tmp/telebrowser-standin-image.lock
flock 9

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The hash of files' names, modes and contents.
inputs() { find "$@" -type f -printf '%m ' -exec sha256sum {} \; | sort -k 3 | sed "s|$here/||" | sha256sum | cut -c 1-16; }
current() { [ "$(docker image inspect --format "{{index .Config.Labels \"$label\"}}" "$1" 2>/dev/null)" = "$2" ]; }
build() { DOCKER_BUILDKIT=0 docker build --quiet --network host --label "$label=$2" --tag "$1" "$3" >/dev/null && echo "built $1"; }

if ! docker image inspect $base >/dev/null 2>&1; then
  mmdebstrap --quiet --variant=minbase --include=ca-certificates trixie "$work/rootfs.tar"
  docker import "$work/rootfs.tar" $base >/dev/null
  rm "$work/rootfs.tar"
fi

hash=$(inputs "$here/python-base" "$authorities")
if ! current telebrowser-test/python-base:1 "$hash"; then
  cp -rL "$here/python-base" "$work/python-base"
  cp -L "$authorities" "$work/python-base/ca-certificates.crt"
  build telebrowser-test/python-base:1 "$hash" "$work/python-base"
fi

hash=$(inputs "$here/root" "$here/Dockerfile")
if ! current telebrowser-test/chromium-standin:1 "$hash"; then
  mkdir "$work/standin"
  cp -r "$here/root" "$here/Dockerfile" "$work/standin/"
  # Downloaded outside of the build, which may not reach PyPI. The image has Debian 13's Python 3.13.
  python3 -m pip download --quiet --python-version 3.13 --implementation cp --abi cp313 --abi abi3 --abi none \
    --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 --platform manylinux_2_26_x86_64 \
    --platform manylinux2014_x86_64 --platform manylinux_2_17_x86_64 \
    --only-binary=:all: --dest "$work/standin/wheels" selkies==2.1.0
  build telebrowser-test/chromium-standin:1 "$hash" "$work/standin"
fi
