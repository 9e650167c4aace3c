#!/bin/bash
# SPDX-License-Identifier: MIT
# view_users: views/by/uid and --uid have the samples of a process before and after it changed its user
# without an exec, of its child, and of a program that another user executes.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

kprof=$PWD/kprof
user=54321
if [ "$(id -u)" != 0 ] || ! setpriv --reuid $user --clear-groups true 2>/dev/null; then
	echo "only root changes its user, and setpriv (util-linux) is needed"
	exit 77
fi

# whether the server can have the kernel's reports: the type of its socket is NETLINK_CONNECTOR
has_reports() {
	awk '$2 == 11 && $4 == "00000001" { found = 1 } END { exit !found }' /proc/net/netlink
}

serve
put kpctl "event cpu-clock:freq=1999"
if ! put kpctl start 2>/dev/null; then
	echo "no sampling here: $(tail -n 1 "$MNT/kperr")"
	exit 77
fi
cat >"$WORK/change.py" <<'EOF'
import os, sys, time

def work():
    end = time.thread_time() + 0.15  # CPU time, of which samples are taken
    while time.thread_time() < end:
        pass

user = int(sys.argv[1])
work()
before = time.monotonic_ns()
os.setuid(user)
after = time.monotonic_ns()
work()
child = os.fork()
if not child:
    work()
    os._exit(0)
os.waitpid(child, 0)
print(os.getpid(), child, before, after)
EOF
read -r pid child before after < <(python3 "$WORK/change.py" $user) || fail "the program failed"
setpriv --reuid $user --clear-groups sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done' &
executed=$!
wait $executed || fail "the program of another user failed"
reported=0
has_reports || reported=1
put kpctl stop

cat "$MNT/kpdata" >"$WORK/kpdata" || fail "kpdata can't be read"
"$kprof" dump "$WORK/kpdata" | awk '
	$2 ~ /^(kern|user)_trace$/ { sub(/.*=/, "", $3); sub(/.*=/, "", $5); print $3, $5 }' >"$WORK/samples"
# count PID CONDITION: of awk, over the times of its samples
count() {
	awk -v pid="$1" -v before="$before" -v after="$after" \
		"\$2 == pid && ($2) { n++ } END { print n + 0 }" "$WORK/samples"
}
# in_view PATH: the samples of a part; 0 if it has none
in_view() {
	cat "$MNT/views/$1/folded" 2>/dev/null | awk '{ n += $NF } END { print n + 0 }'
}

if [ "$(count "$pid" 1)" -lt 50 ] || [ "$(count "$child" 1)" -lt 10 ]; then
	fail "too few samples: $(count "$pid" 1) and $(count "$child" 1)"
fi
root_samples=$(in_view "by/uid/0/by/pid/$pid") user_samples=$(in_view "by/uid/$user/by/pid/$pid")
same "each sample has one user" "$(count "$pid" 1)" $((root_samples + user_samples))
# without the kernel's reports, as in a network namespace, walks of /proc alone tell users
if [ "$reported" = 0 ]; then
	check "all of before are root's" [ "$root_samples" -ge "$(count "$pid" '$1 < before')" ]
	check "no sample of after is root's" [ "$root_samples" -le "$(count "$pid" '$1 <= after')" ]
	same "the child has the user of its parent" "$(count "$child" 1)" "$(in_view "by/uid/$user/by/pid/$child")"
	same "samples of what setpriv executed" 0 "$(in_view "by/uid/0/by/comm/sh/by/pid/$executed")"
	check "these are the user's" [ "$(in_view "by/uid/$user/by/comm/sh/by/pid/$executed")" -gt 0 ]
	check "uid lists both" [ "$(ls "$MNT/views/by/comm/python3/by/uid" | sort | xargs)" = "0 $user" ]
	same "--uid" "$(in_view "by/uid/$user")" \
		"$("$kprof" convert -t folded --uid $user "$WORK/kpdata" | awk '{ n += $NF } END { print n + 0 }')"
fi
same "no other user" 0 "$(in_view "by/uid/54322")"
fails_with "No such file or directory" ls "$MNT/views/by/uid/root"
same "no change was missed" 0 "$(stat_of tasks.users_missing)"
[ "$reported" = 0 ] || exit 0

# ---- more changes than the kernel has room to report -----------------------------------------------

# after the last one, of which the report is probably lost, users are read from /proc while the run goes on
cat >"$WORK/storm.py" <<'END'
import os, sys

user, shared = int(sys.argv[1]), sys.argv[2]
while not os.path.exists(shared + "/enough"):
    for i in range(5000):
        os.setresuid(1, 0, 0)
        os.setresuid(0, 0, 0)
os.setresuid(user, user, user)
while not os.path.exists(shared + "/known"):
    pass
END
mkdir -m 777 "$WORK/shared"
chmod 711 "$WORK"
put kpctl clear
put kpctl start
python3 "$WORK/storm.py" $user "$WORK/shared" &
storm=$!
were_lost() {
	[ "$(stat_of tasks.users_missing)" -gt 0 ] && [ "$(stat_of tasks.users_read)" -gt 0 ]
}
is_known() {
	[ "$(in_view "by/uid/$user/by/pid/$storm")" -gt 0 ]
}
# a reading may be 20 times as long after the one before as that took
WAIT=120 wait_for were_lost
touch "$WORK/shared/enough"
WAIT=120 wait_for is_known
touch "$WORK/shared/known"
wait $storm || fail "the program that changes its user failed"
