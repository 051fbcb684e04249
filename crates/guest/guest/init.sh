#!/bin/bash
# The first process of the guest: mounts what programs need, runs /script.sh, says how it ended, and powers
# off. Its last line is read by the host (crates/guest/src/machine.rs).

export PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/busybox HOME=/root TERM=dumb
box=/bin/busybox

# Busybox's programs come last in PATH: its `ip` knows no namespaces.
$box mkdir -p /opt/busybox
$box --install -s /opt/busybox
[ -x /bin/sh ] || ln -sf bash /bin/sh

mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts
mount -t devpts pts /dev/pts
mount -t tmpfs tmp /tmp
mount -t tmpfs run /run
mount -t cgroup2 cgroup /sys/fs/cgroup
mount -t bpf bpf /sys/fs/bpf
ln -sfn /proc/self/fd /dev/fd
mkdir -p /run/netns /var/lib
ln -sfn /run /var/run
printf '%s\n' root:x:0:0:root:/root:/bin/bash tcpdump:x:100:100::/:/bin/false >/etc/passwd
printf '%s\n' root:x:0: tcpdump:x:100: >/etc/group
hostname guest

for module in virtio_pci 9pnet_virtio 9p; do modprobe $module; done
mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144 share /share
ip link set lo up

cd /root || exit
(exec bash -eu -o pipefail /script.sh) </dev/null
code=$?
sync
echo "guest: the script ended with exit code $code"
poweroff -f
