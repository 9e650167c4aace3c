#!/bin/bash
# SPDX-License-Identifier: MIT
# sshfs: trees of two machines, here two servers of one, are used through sshfs: read, written, reported.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

PATH=$PATH:/usr/sbin
kprof=$PWD/kprof
for tool in sshfs sshd ssh-keygen fusermount3; do
	command -v $tool >/dev/null || { echo "$tool is missing"; exit 77; }
done
N=$WORK/n
mkdir -p "$N/host1" "$N/host2" "$WORK/ssh" "$WORK/other"

# sshd of root needs this folder, which its service makes
if [ "$(id -u)" = 0 ] && mkdir /run/sshd 2>/dev/null; then
	MADE=/run/sshd
fi
end() {
	local status=$? name
	for name in host1 host2; do
		fusermount3 -u -z "$N/$name" 2>/dev/null
	done
	[ -z "${SSHD-}" ] || kill "$SSHD" 2>/dev/null
	[ -z "${OTHER-}" ] || { kill "$OTHER" && wait_for has_ended "$OTHER"; }
	[ -z "${MADE-}" ] || rmdir "$MADE"
	(exit "$status")
	clean_up
}
trap end EXIT

ssh-keygen -q -t ed25519 -N '' -f "$WORK/ssh/host" && ssh-keygen -q -t ed25519 -N '' -f "$WORK/ssh/user" || exit 1
PORT=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
cat >"$WORK/ssh/sshd_config" <<END
Port $PORT
ListenAddress 127.0.0.1
HostKey $WORK/ssh/host
AuthorizedKeysFile $WORK/ssh/user.pub
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
PidFile none
Subsystem sftp internal-sftp
END
"$(command -v sshd)" -D -f "$WORK/ssh/sshd_config" -E "$WORK/ssh/log" &
SSHD=$!
SSH=(-o Port="$PORT" -o IdentityFile="$WORK/ssh/user" -o IdentitiesOnly=yes -o BatchMode=yes
	-o UserKnownHostsFile="$WORK/ssh/known" -o StrictHostKeyChecking=accept-new)
logged_in() {
	ssh -F none "${SSH[@]}" 127.0.0.1 true 2>"$WORK/ssh/said"
}
WAIT=20 wait_for logged_in || { cat "$WORK/ssh/said" "$WORK/ssh/log"; exit 77; }

serve
"$KPROFS" -f -o "socket=$WORK/other.socket" "$WORK/other" 2>>"$WORK/server.log" &
OTHER=$!
wait_for is_mounted "$WORK/other"
# as the manual has it
sshfs -F none "${SSH[@]}" -o direct_io,sshfs_sync "127.0.0.1:$MNT" "$N/host1" || fail "sshfs"
sshfs -F none "${SSH[@]}" -o direct_io,sshfs_sync "127.0.0.1:$WORK/other" "$N/host2" || fail "sshfs"

# ---- read ----------------------------------------------------------------------------------------

same "the files" "$(ls "$MNT")" "$(ls "$N/host1")"
same "kpctl" "$(cat "$MNT/kpctl")" "$(cat "$N/host1/kpctl")"
same "help" "$(cat "$MNT/help")" "$(cat "$N/host1/help")"
same "mpstat of both" 2 "$(cat "$N"/*/mpstat | grep -c 'CPU.*irq')"
same "the lines of mpstat of both" $(($(wc -l <"$MNT/mpstat") * 2)) "$(cat "$N"/*/mpstat | wc -l)"
check "metrics are whole" [ "$(tail -n 1 "$N/host2/views/metrics")" = "# EOF" ]
check "kpstat is whole" grep -q '^wakeups ' "$N/host1/kpstat"

# ---- write ---------------------------------------------------------------------------------------

echo "event cpu-clock:freq=1999" >"$N/host1/kpctl" || fail "kpctl can't be written"
same "the event" "event cpu-clock:freq=1999" "$(grep event "$MNT/kpctl")"
! echo nonsense >"$N/host1/kpctl" 2>/dev/null || fail "a wrong word is accepted"
check "the reason is in kperr" grep -q "'nonsense'" "$N/host1/kperr"
echo "a message" >"$N/host1/kptrace" || fail "kptrace can't be written"
check "kptrace has it" grep -q "a message" "$MNT/kptrace"
mkdir "$N/host1/sessions/web" || fail "mkdir of a session"
check "the session is there" [ -e "$MNT/sessions/web/kpctl" ]
rmdir "$N/host1/sessions/web" || fail "rmdir of a session"

# ---- samples -------------------------------------------------------------------------------------

if ! echo start >"$N/host1/kpctl" 2>/dev/null; then
	echo "no sampling here: $(tail -n 1 "$MNT/kperr")"
	exit $((failures ? 1 : 77))
fi
"$PWD/tests/fixtures/split" 60000 >/dev/null &
BUSY=$!
has_samples() {
	[ "$(stat_of samples.received)" -gt 100 ]
}
wait_for has_samples
"$kprof" -m "$N/host1" report --stdio --json >"$WORK/running" || fail "kprof report of a profiler that runs"
check "it has samples" grep -q '"samples":' "$WORK/running"
echo stop >"$N/host1/kpctl" || fail "stop"
kill $BUSY
same "kprof -m DIR report" "$("$kprof" report --by cpu,pid --stdio -n -m "$MNT")" "$("$kprof" -m "$N/host1" report --by cpu,pid --stdio -n)"
same "script" "$("$kprof" script -m "$MNT" | cksum)" "$("$kprof" script -m "$N/host1" | cksum)"
same "a view" "$(cksum <"$MNT/views/folded")" "$(cksum <"$N/host1/views/folded")"
same "a part" "$(cksum <"$MNT/views/by/pid/$BUSY/folded")" "$(cksum <"$N/host1/views/by/pid/$BUSY/folded")"
# a copy, reported where it was copied to, with another
cp "$N/host1/views/kpdata" "$WORK/copy" || fail "kpdata can't be copied"
same "the copy" "$("$kprof" script "$MNT/kpdata" | cksum)" "$("$kprof" script "$WORK/copy" | cksum)"
python3 "${srcdir:-.}/tests/fs/hosts.py" "$WORK/alpha" alpha 0123456789abcdef0123456789abcdef web=30
same "two machines" "$(printf '%s\n' alpha "$(uname -n)" | sort | xargs)" \
	"$("$kprof" report --by host --json "$WORK/alpha" "$WORK/copy" | grep -o '"host":"[^"]*"' | cut -d'"' -f4 | sort | xargs)"
