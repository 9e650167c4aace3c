#!/bin/bash
# SPDX-License-Identifier: MIT
# prof_scopes: `start` chooses the widest allowed scope: the machine, the machine in user space, the
# mounting user's own processes; or fails with the reason. Tested for a user without rights, for root
# without perf_event_open, and with too little memory to lock.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"
# shellcheck disable=SC2034 # for prof_lib.sh
NEEDS_MACHINE=alone
# shellcheck source=tests/fs/prof_lib.sh
. "${srcdir:-.}/tests/fs/prof_lib.sh"

user=65534 # a user with a name, which fusermount3 needs
paranoid=/proc/sys/kernel/perf_event_paranoid
server=$KPROFS
deny=${DENY:-$PWD/tests/deny/deny}

if [ "$(id -u)" != 0 ] || ! [ -w $paranoid ]; then
	echo "only root can lend out its rights"
	exit 77
fi

was_paranoid=$(cat $paranoid)
was_mode=$(stat -c %a /dev/fuse)
put_back() {
	local status=$?
	echo "$was_paranoid" >$paranoid
	chmod "$was_mode" /dev/fuse
	(exit "$status")
	end_test
}
trap put_back EXIT

# as_user COMMAND...: without root's rights
as_user() {
	setpriv --reuid=$user --regid=$user --clear-groups "$@"
}

# serve_by COMMAND...: starts a server through it. LOOK_BY: the command prefix of a user that may
# read its mount.
LOOK_BY=
serve_by() {
	printf '#!/bin/sh\nexec %s "%s" "$@"\n' "$*" "$WORK/bin/kprofs" >"$WORK/bin/by"
	chmod 755 "$WORK/bin/by"
	KPROFS=$WORK/bin/by
	SOCKET=none # the folder belongs to another user
	serve
}

write_to() {
	# shellcheck disable=SC2016 # the inner shell's
	$LOOK_BY bash -c 'printf "%s\n" "$2" >"$1"' - "$MNT/$1" "$2"
}

read_from() {
	$LOOK_BY cat "$MNT/$1"
}

value_of() {
	read_from kpstat | sed -n "s/^$1 //p"
}

# refusal_says TEXT...: the newest line of kperr
refusal_says() {
	local text line
	line=$(read_from kperr | tail -n 1)
	for text in "$@"; do
		[[ $line == *"$text"* ]] || fail "kperr does not say '$text': $line"
	done
}

# scope_is NAME FLAGS: each file that shows the scope has this one
scope_is() {
	same "scope in kpstat" "$1" "$(value_of profiler.scope)"
	same "scope of the event" "$1" "$(value_of event.1.scope)"
	same "scope in the EVENT record" "$2" \
		"$(sed -n 's/^.* event number=1 .* flags=\([^ ]*\) .*$/\1/p' "$WORK/dump" |
			tr , '\n' | grep '^scope' | tr '\n' ' ')"
}

user_samples_only() {
	same "samples with the kernel in them" 0 "$(grep -c ' kern_trace ' "$WORK/dump")"
	at_least "samples in user space" 50 "$(grep -c ' user_trace ' "$WORK/dump")"
}

dump() {
	$LOOK_BY "$WORK/bin/kprof" dump -m "$MNT" >"$WORK/dump" || fail "kprof dump"
}

# samples_of PID
samples_of() {
	grep -c "_trace .* pid=$1 " "$WORK/dump"
}

has_samples() {
	$LOOK_BY "$WORK/bin/kprof" dump -m "$MNT" >"$WORK/dump" 2>/dev/null && [ "$(samples_of "$1")" -ge 50 ]
}

# a program of root's and one of the user's that run already, and one that the user's starts later
begin_programs() {
	"$WORK/bin/split" 60000 >"$WORK/said.root" &
	roots=$!
	mkfifo "$WORK/later" "$WORK/pids"
	chmod 666 "$WORK/later" "$WORK/pids"
	# shellcheck disable=SC2016 # not here
	as_user sh -c '
		"$1/bin/split" 60000 >/dev/null &
		first=$!
		read -r _ <"$1/later"
		"$1/bin/split" 60000 >/dev/null &
		echo $first $! >"$1/pids"
		wait' - "$WORK" &
	users=$!
}

end_programs() {
	kill "$roots" "$first" "$second"
	wait "$roots" "$users"
	rm "$WORK/later" "$WORK/pids"
}

# own_user PARANOID: a user without rights gets the processes that are theirs
own_user() {
	echo "$1" >$paranoid
	begin_programs
	serve_by setpriv --reuid=$user --regid=$user --clear-groups
	LOOK_BY=as_user
	write_to kpctl start || fail "start, with kernel.perf_event_paranoid $1"
	refusal_says "scope own-user" "kernel.perf_event_paranoid is $1" CAP_PERFMON
	echo >"$WORK/later"
	read -r first second <"$WORK/pids"
	wait_for has_samples "$first"
	wait_for has_samples "$second"
	write_to kpctl flush
	dump
	scope_is own-user "scope_own "
	# each task counts to the period for itself
	same "undelivered" unknown "$(read_from kpstat |
		sed -n 's/^event\.1\.cpu\.[0-9]*\.undelivered //p' | sort -u)"
	user_samples_only
	same "samples of root's programs" 0 "$(samples_of "$roots")"
	write_to kpctl stop
	same "scope of a stopped profiler" none "$(value_of profiler.scope)"
	serve_end
	LOOK_BY=
	end_programs
	echo "paranoid $1: $(samples_of "$first") samples of the user's, $(samples_of "$second") of what it started"
}

# sum_of WHAT: over the CPUs, of event 1
sum_of() {
	read_from kpstat | awk -v what="$1" '
		$1 ~ "^event\\.1\\.cpu\\.[0-9]*\\." what "$" { n += $2 } END { print n + 0 }'
}

# own_clear: counts begin at 0 where sampled processes have ended: what these had counted is in no
# number
own_clear() {
	local pages=20000 load count known
	echo 2 >$paranoid
	mkfifo "$WORK/go" "$WORK/done"
	chmod 666 "$WORK/go" "$WORK/done"
	# not by as_user: $! has to be the loop itself
	# shellcheck disable=SC2016 # not here
	setpriv --reuid=$user --regid=$user --clear-groups sh -c '
		while read -r _ <"$1/go"; do
			"$1/bin/faults" "$2" >/dev/null
			echo >"$1/done"
		done' - "$WORK" $pages &
	load=$!
	serve_by setpriv --reuid=$user --regid=$user --clear-groups
	LOOK_BY=as_user
	write_to kpctl 'event page-faults:period=1' || fail "event"
	write_to kpctl 'stack none' || fail "stack"
	write_to kpctl 'prof_cpubufsz 64' || fail "prof_cpubufsz"
	write_to kpctl start || fail "start"
	echo >"$WORK/go"
	read -r _ <"$WORK/done"
	at_least "page faults counted" $pages "$(sum_of count)"
	write_to kpctl clear || fail "clear"
	count=$(sum_of count)
	check "counted since clear: $count" test "$count" -lt $((pages / 2))
	echo >"$WORK/go"
	read -r _ <"$WORK/done"
	write_to kpctl stop || fail "stop"
	count=$(sum_of count)
	known=$(($(sum_of delivered) + $(sum_of lost)))
	at_least "page faults counted since clear" $pages "$count"
	check "and no more: $count" test "$count" -lt $((pages + pages / 2))
	same "what became of them" "$count" $((known + $(sum_of undelivered)))
	at_least "delivered or lost" $((pages / 10 * 9)) $known
	serve_end
	LOOK_BY=
	kill $load
	wait $load
	rm "$WORK/go" "$WORK/done"
}

# whole_machine PARANOID: each user gets all samples
whole_machine() {
	echo "$1" >$paranoid
	begin_programs
	serve_by setpriv --reuid=$user --regid=$user --clear-groups
	LOOK_BY=as_user
	write_to kpctl start || fail "start, with kernel.perf_event_paranoid $1"
	same "lines in kperr" "" "$(read_from kperr)"
	echo >"$WORK/later"
	read -r first second <"$WORK/pids"
	wait_for has_samples "$roots"
	wait_for has_samples "$second"
	scope_is machine ""
	serve_end
	LOOK_BY=
	end_programs
}

# too_much_memory: rings beyond what may be locked; a size that is said to fit does, twice it does not
too_much_memory() {
	local fits
	echo 2 >$paranoid
	serve_by prlimit --memlock=0:0 setpriv --reuid=$user --regid=$user --clear-groups
	LOOK_BY=as_user
	write_to kpctl 'prof_cpubufsz 1024' || fail "prof_cpubufsz"
	fails_with "Operation not permitted" write_to kpctl start
	refusal_says kernel.perf_event_mlock_kb "prof_cpubufsz "
	same "state" stopped "$(value_of profiler.state)"
	fits=$(read_from kperr | sed -n '$s/.*prof_cpubufsz \([0-9]*\) would fit.*/\1/p')
	at_least "what would fit, in KiB" 16 "${fits:-0}"
	write_to kpctl "prof_cpubufsz $((fits * 2))" || fail "twice of it"
	fails_with "Operation not permitted" write_to kpctl start
	write_to kpctl "prof_cpubufsz $fits" || fail "prof_cpubufsz $fits"
	write_to kpctl start || fail "start with $fits KiB: $(read_from kperr | tail -n 1)"
	same "state" running "$(value_of profiler.state)"
	serve_end
	LOOK_BY=
	echo "$fits KiB fit"
}

# denied ERRNO TEXT SENTENCE...: perf_event_open fails for every user
denied() {
	local code=$1 text=$2 fds
	shift 2
	serve_by "$deny" "$code" perf_event_open --
	fds=$(find "/proc/$SERVER/fd" -type l | wc -l)
	fails_with "$text" write_to kpctl start
	refusal_says "$@"
	same "$code: state" stopped "$(value_of profiler.state)"
	same "$code: scope" none "$(value_of profiler.scope)"
	same "$code: scope of the event" none "$(value_of event.1.scope)"
	same "$code: descriptors" "$fds" "$(find "/proc/$SERVER/fd" -type l | wc -l)"
	write_to kpctl stop || fail "$code: stop"
	write_to kpctl clear || fail "$code: clear"
	same "$code: bytes held" 0 "$(value_of bytes.held)"
	timeout 10 cat "$MNT/kpdata" >"$WORK/copy" || fail "$code: kpdata does not end"
	check "$code: the rest of the tree" grep -q '^mpstat.source procstat$' "$MNT/kpstat"
	serve_end
}

# user_only: no user can sample the kernel
user_only() {
	serve_by "$FIXTURES/user_only"
	write_to kpctl start || fail "start, in user space only"
	refusal_says "started with scope machine-user, user space of all processes; no wider one: " \
		"perf_event_open is not allowed"
	[[ $(read_from kperr | tail -n 1) == *usage* ]] && fail "a start reads like a refusal"
	"$WORK/bin/split" 300 >"$WORK/said.root" || fail split
	write_to kpctl flush
	dump
	scope_is machine-user "scope_user "
	user_samples_only
	"$KPROF" report -m "$MNT" >"$WORK/report"
	check "the report says so" grep -q '(user space only)' "$WORK/report"
	serve_end
}

# programs of the other user have to be where that user can read them
chmod 711 "$WORK"
mkdir -m 755 "$WORK/bin"
cp "$server" "$WORK/bin/kprofs"
cp "$PWD/kprof-symbols" "$WORK/bin/kprof-symbols"
cp "$KPROF" "$WORK/bin/kprof"
cp "$FIXTURES/split" "$FIXTURES/faults" "$WORK/bin/"

if [ -x "$deny" ]; then
	denied EACCES "Permission denied" "perf_event_open is not allowed"
	denied EPERM "Permission denied" "perf_event_open is not allowed"
	denied ENOENT "No such file" "can't sample that event"
	denied EMFILE "Too many open files" "RLIMIT_NOFILE"
	user_only
else
	echo "not tried: perf_event_open that fails, for want of libseccomp"
fi

if command -v fusermount3 >/dev/null; then
	chown $user "$WORK/mnt"
	chmod 666 /dev/fuse
	own_user 2
	own_user 1
	own_clear
	whole_machine -1
	too_much_memory
else
	echo "not tried: a user without rights, for want of fusermount3"
fi
