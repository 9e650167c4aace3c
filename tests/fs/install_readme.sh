#!/bin/bash
# SPDX-License-Identifier: MIT
# install_readme: With an installed kprofs the commands of README do what it says: the first session, each way
# to mount, the systemd unit, the table of kprof's commands. `make uninstall` leaves what was there before.
# shellcheck source=tests/fs/install_lib.sh
. "${srcdir:-.}/tests/fs/install_lib.sh"

if ! [ -w /dev/fuse ]; then
	echo "no FUSE here: /dev/fuse is missing"
	exit 77
fi
readme=$(realpath "${srcdir:-.}/README")
terminal=$(realpath "${srcdir:-.}/tests/fs/cmd_terminal.py")
build=$PWD

# the server's socket and the mount point are this test's
mkdir -p /mnt
mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /mnt || fail "/run and /mnt"
end_mounts() {
	local mount
	for mount in $(awk '$3 == "fuse.kprofs" && $2 ~ "^(/mnt/|/run/|'"$INSTALL_TMP"')" { print $2 }' /proc/self/mounts); do
		umount -l "$mount"
	done
	install_clean_up
}
trap end_mounts EXIT
mkdir /mnt/kprof "$INSTALL_TMP/work" /run/tmp
# the reader of README has this mount only; the machine may have others
export KPROF_MOUNT=/mnt/kprof
# mount(8) looks for kprofs in the standard folders only, and ./check installs elsewhere
case $prefix in
/usr | /usr/local) ;;
*)
	mount -t tmpfs tmpfs /usr/local && mkdir /usr/local/sbin && ln -s "$prefix/sbin/kprofs" /usr/local/sbin/ ||
		fail "/usr/local"
	;;
esac
export TMPDIR=/run/tmp

# commands SECTION: the lines of a section that begin with #, without the explanation behind them
commands() {
	awk -v section="$1" '/^---/ { on = last == section } { last = $0 } on' "$readme" |
		sed -n 's/^    # //p' | sed 's/   .*//; s/ *$//'
}

is_mounted() {
	grep -q " ${1:-/mnt/kprof} fuse\.kprofs " /proc/self/mounts
}

not_mounted() {
	local end=$((SECONDS + 30))
	while is_mounted "$@"; do
		[ "$SECONDS" -lt "$end" ] || return 1
		read -rt 0.05 <> <(:)
	done
}

# ---- mounting -------------------------------------------------------------------------------------

mapfile -t lines < <(commands Mounting)
same_lines=$(printf '%s\n' 'kprofs /mnt/kprof' 'mount -t fuse.kprofs none /mnt/kprof' 'umount /mnt/kprof' \
	'systemctl enable --now kprofs' 'kprofs -o state=/var/lib/kprofs /mnt/kprof')
[ "$(printf '%s\n' "${lines[@]}")" = "$same_lines" ] || fail "README mounts in other ways: ${lines[*]}"
for way in "${lines[0]}" "${lines[1]}"; do
	eval "$way" || fail "$way"
	is_mounted || fail "$way: nothing is mounted"
	[ "$(tail -n 1 /mnt/kprof/kpctl)" = stop ] || fail "$way: it runs"
	eval "${lines[2]}" || fail "${lines[2]}"
	not_mounted || fail "${lines[2]}: it is still mounted"
done

# with a state, the second server has the settings of the first one
mount -t tmpfs tmpfs /var/lib || fail "/var/lib"
for expected in 'event default' 'event task-clock'; do
	eval "${lines[4]}" || fail "${lines[4]}"
	is_mounted || fail "${lines[4]}: nothing is mounted"
	grep -qx "$expected.*" /mnt/kprof/kpctl || fail "${lines[4]}: not $expected, but $(grep '^event' /mnt/kprof/kpctl)"
	echo 'event task-clock' >/mnt/kprof/kpctl || fail "event: $(tail -n 1 /mnt/kprof/kperr)"
	eval "${lines[2]}" || fail "${lines[2]}"
	not_mounted || fail "${lines[2]}: it is still mounted"
done
umount /var/lib || fail "a file of the state is still open"

sed -n 's/^    \(none .*fuse\.kprofs.*\)/\1/p' "$readme" >/etc/fstab
mount /mnt/kprof || fail "the line of fstab: $(cat /etc/fstab)"
is_mounted || fail "the line of fstab mounts nothing"
umount /mnt/kprof
not_mounted || fail "it is still mounted"

# the unit, as systemd would run it
unit=$(setting systemdsystemunitdir)/kprofs.service
unit_line() {
	sed -n "s/^$1=-\{0,1\}//p" "$unit"
}
[ "$(unit_line ExecStart)" = "$prefix/sbin/kprofs /mnt/kprof" ] || fail "the unit starts $(unit_line ExecStart)"
rmdir /mnt/kprof
for line in ExecStartPre ExecStart; do
	eval "$(unit_line $line)" || fail "$line of the unit: $(unit_line $line)"
done
is_mounted || fail "the unit mounts nothing"
eval "$(unit_line ExecStop)" || fail "the unit does not end it"
not_mounted || fail "the unit does not unmount it"
if command -v systemd-analyze >/dev/null && ! systemd-analyze --man=no verify "$unit" >"$INSTALL_TMP/said" 2>&1; then
	fail "systemd-analyze verify: $(cat "$INSTALL_TMP/said")"
fi

# without root, on a machine that lets all users open the device, as most do
ln -s ../proc/self/mounts /etc/mtab # fusermount3 reads it
mknod -m 666 /run/fuse c 10 229 && mount --bind /run/fuse /dev/fuse
as_user() {
	setpriv --reuid 65534 --regid 65534 --clear-groups env HOME=/run/home XDG_RUNTIME_DIR=/run/home "$@"
}
if command -v setpriv >/dev/null && command -v fusermount3 >/dev/null && [ -r "$prefix/bin/kprof" ] &&
	mkdir -p /run/home && chown 65534:65534 /run/home && as_user test -x "$prefix/sbin/kprofs" -a -w /dev/fuse; then
	grep -q 'mkdir ~/kprof; kprofs ~/kprof' "$readme" || fail "README does not mount without root"
	as_user sh -c 'mkdir ~/kprof; kprofs ~/kprof' || fail "a user can't mount"
	is_mounted /run/home/kprof || fail "a user's mount is missing"
	as_user sh -c 'cat ~/kprof/kpctl && fusermount3 -u ~/kprof' >/dev/null || fail "a user's mount is of no use"
	not_mounted /run/home/kprof || fail "a user's mount is still there"
fi

# ---- a first session ------------------------------------------------------------------------------

kprofs /mnt/kprof || fail "it does not mount"
cd /mnt/kprof || exit 1
if ! echo start >kpctl 2>/dev/null; then
	echo "no sampling here: $(tail -n 1 kperr)"
	exit 77
fi
echo stop >kpctl
# make -j4 of README is a program whose main can be found in the report
printf 'int main(void)\n{\n\tvolatile unsigned long n = 0;\n\twhile (n < 200000000)\n\t\tn++;\n}\n' >"$INSTALL_TMP/loop.c"
cc -O1 -g -o "$INSTALL_TMP/bin/make" "$INSTALL_TMP/loop.c" || fail "cc"
copies=$INSTALL_TMP/copies # for /tmp
mkdir "$copies"
number=0

# follows COMMAND: it shows what is written after its begin
follows() {
	local follower end=$((SECONDS + 60))
	$1 >/run/tmp/followed </dev/null &
	follower=$!
	until grep -q 'it goes on$' /run/tmp/followed || [ "$SECONDS" -ge "$end" ]; do
		echo 'it goes on' >kptrace
		read -rt 0.2 <> <(:)
	done
	kill "$follower"
	grep -q 'it goes on$' /run/tmp/followed || fail "'$1' shows nothing"
}

while read -r command; do
	number=$((number + 1))
	case $command in
	'tail -f '*) follows "$command" && continue ;;
	babeltrace2*) command -v babeltrace2 >/dev/null || continue ;;
	esac
	status=0
	(eval "${command//\/tmp/$copies}") >"/run/tmp/$number.out" 2>"/run/tmp/$number.err" </dev/null || status=$?
	if [[ $command == *nonsense* ]]; then
		[ $status != 0 ] || fail "'$command' succeeds"
		grep -q 'Invalid argument' "/run/tmp/$number.err" || fail "'$command': $(cat "/run/tmp/$number.err")"
	elif [ $status != 0 ]; then
		fail "'$command': status $status: $(cat "/run/tmp/$number.out" "/run/tmp/$number.err")"
	fi
	case $command in
	'kprof report | head') grep -q 'make.*main' "/run/tmp/$number.out" || fail "no main: $(cat "/run/tmp/$number.out")" ;;
	'cat kptrace') grep -q '^\[ *[0-9.]*\]:cpu[0-9]*: here it begins$' "/run/tmp/$number.out" ||
		fail "kptrace: $(cat "/run/tmp/$number.out")" ;;
	*PROVIDER:EVENT) [ "$(cat events/PROVIDER:EVENT)" = 1 ] || fail "the event is not switched on" ;;
	'tail -n 1 kperr') grep -q nonsense "/run/tmp/$number.out" || fail "kperr: $(cat "/run/tmp/$number.out")" ;;
	'cat kpctl') grep -qx 'stack user 32' "/run/tmp/$number.out" || fail "kpctl: $(cat "/run/tmp/$number.out")" ;;
	esac
done < <(commands 'A first session' | grep -v '^cd ')
[ $number -ge 15 ] || fail "README has only $number commands"
kprof report "$copies/monday" | grep -q 'make.*main' || fail "the copy does not have main"
[ -s "$copies/flame.svg" ] && [ -s "$copies/report.html" ] || fail "the copies of views are missing"

# the commands of the table
number=0
while read -r command; do
	number=$((number + 1))
	case $command in
	'kprof record '*) command="kprof record -- make" ;;
	'kprof flame '*) # of a program that writes a stack, where programs are allowed
		echo 'tracepoint:syscalls:sys_enter_read { @[kstack] = count(); }' >probes/x || continue
		cat kpdata >/dev/null
		;;
	'kprof annotate '*) command -v objdump >/dev/null || continue ;;
	'kprof top')
		command -v python3 >/dev/null || continue
		command="python3 '$terminal' kprof top -- 'p pause' q"
		;;
	esac
	(cd "$INSTALL_TMP/work" && eval "$command") >/run/tmp/out 2>&1 </dev/null ||
		fail "'$command': status $?: $(tail -n 5 /run/tmp/out)"
	case $command in
	'kprof annotate '*) grep -q 'n++' /run/tmp/out || fail "no line of main: $(head -n 30 /run/tmp/out)" ;;
	'kprof ctl '*) grep -qx "${command#kprof ctl }" kpctl || fail "$command: $(cat kpctl)" ;;
	esac
done < <(awk '/^The command kprof/ { on = 1 } /^Commands that read/ { on = 0 } on' "$readme" | sed -n 's/^    kprof .*:  *\(kprof .*\)/\1/p')
[ $number = "$(kprof --help | grep -c '^  [a-z]*  ')" ] || fail "README has $number commands: $(kprof --help)"

# ---- uninstalling ----------------------------------------------------------------------------------

cd "$build" || exit 1
rm "$INSTALL_TMP/bin/make"
umount /mnt/kprof
not_mounted || fail "it is still mounted"
MAKEFLAGS='' flock . make -s uninstall >"$INSTALL_TMP/log" 2>&1 || fail "make uninstall: $(cat "$INSTALL_TMP/log")"
(cd "$prefix" && find . | LC_ALL=C sort) >"$INSTALL_TMP/after"
diff "$INSTALL_TMP/before" "$INSTALL_TMP/after" || fail "uninstall leaves another tree"
exit 0
