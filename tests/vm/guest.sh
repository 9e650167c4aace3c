#!/bin/bash
# SPDX-License-Identifier: MIT
# guest.sh: the first process of a guest that tests/vm/run boots. Runs the tests that /kprofs/tests names,
# prints `kprofs-result TEST STATUS` for each, and switches the guest off.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C HOME=/root
# of one test; emulated CPUs are some twenty times slower than real ones
test_seconds=240

mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm /root
mount -t devpts pts /dev/pts
mount -t tmpfs shm /dev/shm
mount -t tmpfs tmp /tmp
mount -t tracefs tracing /sys/kernel/tracing
mount -t cgroup2 cgroup /sys/fs/cgroup
busybox ifconfig lo 127.0.0.1 up
ln -s /proc/self/fd /dev/fd
ln -sf /proc/self/mounts /etc/mtab
find /lib/modules -name 'fuse.ko*' -exec insmod {} \; 2>/dev/null

# an emulated CPU takes long for a sample: Linux would lower the highest rate of samples step by step
echo 10000 >/proc/sys/kernel/perf_event_max_sample_rate
echo 0 >/proc/sys/kernel/perf_cpu_time_max_percent

cd /kprofs/build || exit
echo "Linux $(uname -r) $(uname -m), $(nproc) CPUs, up $(cut -d. -f1 /proc/uptime) s"
for test in $(cat /kprofs/tests); do
	echo "== $test"
	# a pipe: programs show their progress on a terminal
	srcdir=/kprofs/src timeout --kill-after=10 $test_seconds bash "/kprofs/src/$test" </dev/null 2>&1 | cat
	echo "kprofs-result $test ${PIPESTATUS[0]}"
done
echo "up $(cut -d. -f1 /proc/uptime) s"
echo "kprofs-result end"
echo o >/proc/sysrq-trigger
while :; do
	sleep 60
done
