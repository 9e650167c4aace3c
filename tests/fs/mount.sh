#!/bin/bash
# SPDX-License-Identifier: MIT
# mount: Every way to mount and to unmount works, and no mount, process, socket or file remains.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

CYCLES=${KPROFS_CYCLES:-200}

# servers of our mount point, zombies not counted
servers() {
	local pid
	for pid in $(pgrep -x "$(basename "$KPROFS")"); do
		tr '\0' '\n' <"/proc/$pid/cmdline" | grep -qxF -- "$MNT" && echo "$pid"
	done 2>/dev/null
}

no_server() {
	[ -z "$(servers)" ]
}

works() {
	same "kprintx of $1" off "$(timeout 5 cat "$MNT/kprintx")"
}

ends() {
	wait_for no_server
	check "no mount is left after $1" not_mounted
	check "the mount point can be used after $1" ls "$MNT"
}

# ---- what is wrong is said, with a status --------------------------------------------------------

fails_with "no mount point" "$KPROFS"
fails_with "No such file or directory" "$KPROFS" "$WORK/none"
touch "$WORK/file"
fails_with "is not a directory" "$KPROFS" "$WORK/file"
fails_with "unknown option" "$KPROFS" -x "$MNT"
fails_with "unknown mount option 'bogus'" "$KPROFS" -o rw,bogus "$MNT"
fails_with "'uid=me'" "$KPROFS" -o uid=me "$MNT"
fails_with "'mode=0888'" "$KPROFS" -o mode=0888 "$MNT"
fails_with "'mode=07777'" "$KPROFS" -o mode=07777 "$MNT"
fails_with "'trace_size=0'" "$KPROFS" -o trace_size=0 "$MNT"
fails_with "'trace_size=99999999999999999999'" "$KPROFS" -o trace_size=99999999999999999999 "$MNT"
fails_with "too many" "$KPROFS" a b c
fails_with "needs a value" "$KPROFS" -o
check "nothing was mounted" not_mounted
check "nothing runs" no_server
check "help" eval '"$KPROFS" --help | grep -q "^usage: kprofs"'
check "version" eval '"$KPROFS" -V | grep -q "^kprofs [0-9]"'

# ---- as a daemon ---------------------------------------------------------------------------------

check "daemon" "$KPROFS" -o "socket=$SOCKET" "$MNT" </dev/null
check "mounted when it returns" is_mounted
works "a daemon"
same "the type" fuse.kprofs "$(findmnt -no FSTYPE "$MNT")"
same "the source" kprofs "$(findmnt -no SOURCE "$MNT")"
pid=$(servers)
same "one process" 1 "$(echo "$pid" | wc -w)"
same "its folder" / "$(readlink "/proc/$pid/cwd")"
same "its input and output" "/dev/null /dev/null /dev/null" \
	"$(readlink "/proc/$pid/fd/0" "/proc/$pid/fd/1" "/proc/$pid/fd/2" | tr '\n' ' ' | sed 's/ $//')"
same "a session of its own" "$pid" "$(ps -o sid= -p "$pid" | tr -d ' ')"
check umount umount "$MNT"
ends umount

for signal in TERM INT HUP; do
	check "daemon" "$KPROFS" -o "socket=$SOCKET" "$MNT"
	kill "-$signal" "$(servers)"
	ends "SIG$signal"
done

# started without standard descriptors: none of its own files has their numbers when it lets go of them
check "daemon without standard descriptors" eval '"$KPROFS" -o "socket=$SOCKET" "$MNT" <&- >&- 2>&-'
works "without standard descriptors"
umount "$MNT"
ends "umount without standard descriptors"

# a relative mount point
check "a relative path" eval 'cd "$WORK" && "$KPROFS" -o "socket=$SOCKET" mnt'
works "a relative path"
umount "$MNT"
ends "umount of a relative path"

# open files at the end: their readers get errors, and no process hangs
check "daemon" "$KPROFS" -o "socket=$SOCKET" "$MNT"
exec 3<"$MNT/mpstat" 4>"$MNT/kprintx" 5<"$MNT/kpdata"
fails_with "busy" umount "$MNT"
kill -TERM "$(servers)"
ends "SIGTERM with open files"
fails_with "not connected" timeout 5 bash -c 'echo on >&4'
exec 3<&- 4>&- 5<&-

# ---- as mount(8) does it -------------------------------------------------------------------------

# mount.fuse3 sets its own PATH: in this private mount namespace kprofs is in it
propagation() {
	if unshare --mount --propagation private true 2>/dev/null; then
		echo private
	else
		echo unchanged # the root is no mount of its own, as in a chroot
	fi
}

in_path() {
	unshare --mount --propagation "$(propagation)" bash -uc '
		mount -t tmpfs none /usr/local/sbin && ln -s "$1" /usr/local/sbin/kprofs || exit 1
		shift
		"$@"' - "$(realpath "$KPROFS")" "$@"
}

by_type() {
	mount -t fuse.kprofs none "$MNT" || return
	works "mount -t"
	same "the type" fuse.kprofs "$(findmnt -no FSTYPE "$MNT")"
	same "the source" none "$(findmnt -no SOURCE "$MNT")"
	umount "$MNT"
	ends "mount -t"
}

by_fstab() {
	echo "a,b $MNT fuse.kprofs \
rw,nosuid,nodev,nofail,noauto,x-systemd.automount,_netdev,allow_other,mode=0640,gid=4,trace_size=256 0 0" \
		>"$WORK/fstab"
	mount -T "$WORK/fstab" "$MNT" || return
	works "fstab"
	same "its options" "-rw-r----- 0:4" "$(stat -c '%A %u:%g' "$MNT/kptrace")"
	same "its source" a,b "$(findmnt -no SOURCE "$MNT")"
	check "allow_other is passed on" grep -q " $MNT fuse.kprofs .*allow_other" /proc/mounts
	umount "$MNT"
	ends fstab
}

if [ "$(id -u)" = 0 ] && command -v mount.fuse3 >/dev/null && [ -d /usr/local/sbin ]; then
	export -f by_type by_fstab works ends same check fail wait_for no_server servers not_mounted is_mounted
	export MNT WORK KPROFS
	check "mount -t" in_path bash -c 'failures=0; by_type && exit "$failures"'
	check "a line of fstab" in_path bash -c 'failures=0; by_fstab && exit "$failures"'
else
	echo "not tried: mount(8) (root and mount.fuse3 only)"
fi

# ---- for a user ----------------------------------------------------------------------------------

without_rights() {
	setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
}

is_dead() {
	[[ $(without_rights ls "$1" 2>&1) == *"not connected"* ]]
}

user_mounts() {
	local said
	# the socket's folder exists for users who are logged in
	said=$(without_rights env -u XDG_RUNTIME_DIR "$KPROFS" "$WORK/theirs" 2>&1) || fail "a user's mount: $said"
	same "what a user without a session hears" \
		"kprofs: events: no programs can attach: XDG_RUNTIME_DIR names no directory for the socket; usage: mount option socket=PATH, or socket=none" \
		"$said"
	same "its owner" 65534 "$(without_rights stat -c %u "$WORK/theirs/kpctl")"
	same "kprintx for a user" off "$(without_rights cat "$WORK/theirs/kprintx")"
	fails_with "Permission denied" ls "$WORK/theirs" # not for root either
	# the mount that a killed server of the user left is removed by fusermount3
	pkill -9 -u 65534 -f -- " $WORK/theirs\$"
	wait_for is_dead "$WORK/theirs"
	said=$(without_rights "$KPROFS" -o socket=none "$WORK/theirs" 2>&1) || fail "a user's next mount: $said"
	same "kprintx for a user again" off "$(without_rights cat "$WORK/theirs/kprintx")"
	check "a user's unmount" without_rights fusermount3 -u "$WORK/theirs"
	check "a user's mount is gone" wait_for not_mounted "$WORK/theirs"
	fails_with "cannot mount" without_rights "$KPROFS" -o "socket=$SOCKET" "$MNT"
}

# where only root may open /dev/fuse: with a device that all users may open, in a private mount
# namespace
with_device() {
	mknod -m 666 "$WORK/fuse" c 10 229 && chmod 666 "$WORK/fuse" && mount --bind "$WORK/fuse" /dev/fuse &&
		without_rights test -w /dev/fuse || return 77
	user_mounts
	return "$failures"
}

if [ "$(id -u)" = 0 ]; then
	chmod 711 "$WORK"
	mkdir "$WORK/theirs"
	chown 65534:65534 "$WORK/theirs"
	if ! without_rights test -x "$KPROFS"; then
		echo "not tried: a user's mount (the build is not for others)"
	elif without_rights test -w /dev/fuse; then
		user_mounts
	else
		fails_with "/dev/fuse: Permission denied" without_rights "$KPROFS" -o socket=none "$WORK/theirs"
		export -f without_rights is_dead user_mounts with_device fail check same fails_with wait_for not_mounted is_mounted
		export MNT WORK KPROFS SOCKET
		unshare -m bash -c 'failures=0; with_device'
		case $? in
		0) ;;
		77) echo "not tried: a user's mount (no device for it)" ;;
		*) fail "a user's mount with a device of its own" ;;
		esac
	fi
fi

# ---- killed --------------------------------------------------------------------------------------

for remove in "fusermount3 -u" "umount -l"; do
	check "daemon" "$KPROFS" -o "socket=$SOCKET" "$MNT"
	put kpctl 'event cpu-clock'
	put kpctl start
	exec 3<"$MNT/kpdata"
	kill -9 "$(servers)"
	wait_for no_server
	fails_with "not connected" ls "$MNT"
	exec 3<&-
	check "$remove of what a killed server left" $remove "$MNT"
	check "it is gone" not_mounted
	check "restart" "$KPROFS" -o "socket=$SOCKET" "$MNT"
	works "a restart"
	umount "$MNT"
	ends "a restart"
done

# the next server removes it by itself, also where its directory is named by a link, or in another way
ln -s mnt "$WORK/link"
for name in "$MNT" "$WORK/link" "$WORK/../$(basename "$WORK")/mnt/"; do
	check "daemon" "$KPROFS" -o "socket=$SOCKET" "$MNT"
	exec 3<"$MNT/kpdata"
	kill -9 "$(servers)"
	wait_for no_server
	fails_with "not connected" ls "$MNT"
	"$KPROFS" -o "socket=$SOCKET" "$name" 2>"$WORK/said" || fail "a server at $name: $(cat "$WORK/said")"
	check "it says what it removed" grep -q "removed the mount of a server that is gone" "$WORK/said"
	works "a server at $name"
	same "mounts there" 1 "$(grep -c " $MNT " /proc/mounts)"
	exec 3<&-
	umount "$MNT"
	ends "a server over a dead one's mount"
done

# ---- unmounted while files are open ---------------------------------------------------------------

# a reader that waits, one that is stopped, and an open file without a reader
check "daemon" "$KPROFS" -o "socket=$SOCKET" "$MNT"
cat "$MNT/kptrace_pipe" >"$WORK/pipe" &
reader=$!
sh -c 'exec 3<"$1" && kill -STOP $$ && cat <&3' - "$MNT/mpstat" >"$WORK/stopped.got" 2>&1 &
stopped=$!
is_stopped() {
	grep -q '^State:.T' "/proc/$stopped/status"
}
wait_for is_stopped
exec 4<"$MNT/kpdata"
fails_with "busy" umount "$MNT"
check "umount -l" umount -l "$MNT"
wait_for no_server
ended_well "the reader that waited" "$reader"
check "another server at once" "$KPROFS" -o "socket=$SOCKET" "$MNT"
works "a server after umount -l"
kill -CONT "$stopped"
wait "$stopped"
exec 4<&-
umount "$MNT"
ends "a server after umount -l"

# the next server is mounted before the first one notices: it is not what the first one unmounts
check "daemon" "$KPROFS" -o "socket=$SOCKET" "$MNT"
first=$(servers)
exec 4<"$MNT/kpdata"
kill -STOP "$first"
check "umount -l" umount -l "$MNT"
check "the second server" "$KPROFS" -o socket=none "$MNT"
kill -CONT "$first"
wait_for has_ended "$first"
works "the second server, after the first one has ended"
exec 4<&-
umount "$MNT"
ends "the second server"

# another mount namespace has a copy of the mount, which is not unmounted with it
copied() {
	check "daemon" "$KPROFS" -o "socket=$SOCKET" "$MNT"
	mkfifo "$WORK/copied" "$WORK/release"
	unshare --mount --propagation private sh -c 'echo >"$1"; read -r _ <"$2"; cat "$3/kprintx"' - \
		"$WORK/copied" "$WORK/release" "$MNT" >"$WORK/copy.got" 2>&1 &
	reader=$!
	read -r _ <"$WORK/copied"
	check "umount with a copy in another namespace" umount "$MNT"
	ends "umount with a copy in another namespace"
	echo >"$WORK/release"
	if wait "$reader"; then fail "the copy of an unmounted tree can be read: $(cat "$WORK/copy.got")"; fi
}

if [ "$(propagation)" = private ]; then
	copied
else
	echo "not tried: a copy in another mount namespace (the root is no mount of its own)"
fi

# ---- mounted over another -------------------------------------------------------------------------

check "daemon" "$KPROFS" -o "socket=$SOCKET" "$MNT"
put kprintx on
fails_with "another kprofs is mounted here; unmount it, or mount over it with -o over" \
	"$KPROFS" -o socket=none "$MNT"
same "mounts there after a refusal" 1 "$(grep -c " $MNT " /proc/mounts)"
check "a mount over another" "$KPROFS" -o socket=none,over "$MNT"
works "a mount over another"
umount "$MNT"
wait_for eval '[ "$(grep -c " $MNT " /proc/mounts)" = 1 ]'
same "kprintx of the mount below" on "$(cat "$MNT/kprintx")"
umount "$MNT"
ends "two mounts, one over the other"

# ---- two mounts are independent ------------------------------------------------------------------

mkdir "$WORK/second"
serve
"$KPROFS" -o "socket=$WORK/trace2" "$WORK/second" || fail "a second mount"
put kprintx on
same "the other kprintx" off "$(cat "$WORK/second/kprintx")"
put kptrace hello
same "the other kptrace" "" "$(cat "$WORK/second/kptrace")"
umount "$WORK/second"
wait_for not_mounted "$WORK/second"
same "the first one lives on" on "$(cat "$MNT/kprintx")"
serve_end

# ---- many times ----------------------------------------------------------------------------------

# other mounts at the same place are left alone
our_mounts() {
	grep -c " $WORK/" /proc/mounts
}

mounts_before=$(our_mounts)
processes_before=$(servers | wc -l)
begun=$SECONDS
i=0
while [ "$i" -lt "$CYCLES" ]; do
	"$KPROFS" -o "socket=$SOCKET" "$MNT" || break
	umount "$MNT" || break
	i=$((i + 1))
done
same "cycles of mount and unmount" "$CYCLES" "$i"
echo "$CYCLES cycles of mount and unmount in $((SECONDS - begun)) s"
wait_for no_server
same "mounts" "$mounts_before" "$(our_mounts)"
same "processes" "$processes_before" "$(servers | wc -l)"
