#!/bin/sh
# The first process of the test machine until systemd takes its place: a whole /proc, as machines have, and cgroup v2 with a control group of its own
# as the top, whichever version the engine uses.
set -e
mount -t proc proc /proc
mount -t cgroup2 cgroup2 /sys/fs/cgroup
own=/sys/fs/cgroup/$(hostname)
mkdir -p "$own"
echo $$ > "$own/cgroup.procs"
exec unshare --cgroup sh -c 'umount /sys/fs/cgroup; mount -t cgroup2 cgroup2 /sys/fs/cgroup; exec /sbin/init'
