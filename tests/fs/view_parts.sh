#!/bin/bash
# SPDX-License-Identifier: MIT
# view_parts: the folders below views/ that are queries have the samples that kprof dump counts, nest,
# and refuse what is no query as a disk would.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

# a name of its own: other runs of the tests may run the same program at the same time
NAME=part$$
kprof=$PWD/kprof
cp "$PWD/tests/fixtures/split" "$WORK/$NAME"

serve
put kpctl "event cpu-clock:freq=1999,page-faults:period=1"
if ! put kpctl start 2>/dev/null; then
	echo "no sampling here: $(tail -n 1 "$MNT/kperr")"
	exit 77
fi
"$WORK/$NAME" 300 >/dev/null &
one=$!
"$WORK/$NAME" 300 >/dev/null &
wait $one $!
put kpctl stop
cat "$MNT/kpdata" >"$WORK/kpdata" || fail "kpdata can't be read"
"$kprof" dump "$WORK/kpdata" >"$WORK/dump" || fail "kprof dump"

# the samples, one a line: NS EVENT PID TID CPU; the thread as TASK says
awk '
	function value(i) { return substr($i, index($i, "=") + 1) }
	$2 == "task" { tid[value(3) " " value(4)] = value(5) }
	$2 ~ /^(kern|user)_trace$/ {
		key = value(6) " " value(5)
		thread = key in tid ? tid[key] : value(5)
		sub(/^4294967294$/, "gone", thread) # a thread that had exited, of a known process
		print value(3), value(4), value(5), thread, value(6)
	}' "$WORK/dump" >"$WORK/samples"
total=$(wc -l <"$WORK/samples")
check "there are samples" [ "$total" -gt 100 ]
check "the first program was sampled" grep -q " $one $one " "$WORK/samples"

# count CONDITION: of awk, over the samples
count() {
	awk -v one="$one" -v t="${T:-0}" -v u="${U:-0}" \
		"{ ns = \$1; event = \$2; pid = \$3; tid = \$4; cpu = \$5 } $1 { n++ } END { print n + 0 }" "$WORK/samples"
}
# in_view PATH: the samples of a part; 0 if it has none
in_view() {
	if cat "$MNT/views/$1/folded" >"$WORK/folded" 2>"$WORK/said"; then
		awk '{ n += $NF } END { print n + 0 }' "$WORK/folded"
	elif grep -q "No data available" "$WORK/said"; then
		echo 0
	else
		cat "$WORK/said"
	fi
}
# seconds NS: as a name of a folder
seconds() {
	printf '%d.%09d' $(($1 / 1000000000)) $(($1 % 1000000000))
}

# ---- each key -----------------------------------------------------------------------------------

same "by" "comm cpu event exe host pid span tid uid" "$(echo $(ls "$MNT/views/by"))"
same "query folders are not listed" "" "$(ls "$MNT/views" | grep -E '^(by|last|since|until)$')"
same "last lists nothing" "" "$(ls "$MNT/views/last")"
same "the values of pid" "$(awk '{ print $3 }' "$WORK/samples" | sort -u)" "$(ls "$MNT/views/by/pid" | sort)"
same "the values of cpu" "$(awk '{ print $5 }' "$WORK/samples" | sort -u)" "$(ls "$MNT/views/by/cpu" | sort)"
same "the values of tid" "$(awk '{ print $4 }' "$WORK/samples" | sort -u)" \
	"$(ls "$MNT/views/by/tid" | sort)"
same "the values of event" "$(printf '%s\n' cpu-clock:freq=1999 page-faults:period=1)" "$(ls "$MNT/views/by/event")"
check "the program is a value of comm" [ -d "$MNT/views/by/comm/$NAME" ]
check "comm lists the program" grep -qx "$NAME" <(ls "$MNT/views/by/comm")
check "exe lists the program" grep -qx "${WORK//\//%2F}%2F$NAME" <(ls "$MNT/views/by/exe")
for pid in $(awk '{ print $3 }' "$WORK/samples" | sort -u | head -n 6) "$one"; do
	same "by/pid/$pid" "$(count "pid == \"$pid\"")" "$(in_view "by/pid/$pid")"
done
for cpu in $(ls "$MNT/views/by/cpu"); do
	same "by/cpu/$cpu" "$(count "cpu == $cpu")" "$(in_view "by/cpu/$cpu")"
done
same "by/tid" "$(count "tid == one")" "$(in_view "by/tid/$one")"
same "by/event" "$(count "event == 2")" "$(in_view by/event/page-faults:period=1)"

# the program has its name from its exec on: from its COMM
named=$(awk -v one="pid=$one" -v name="name=\"$NAME\"" '
	$2 == "comm" && $4 == one && $6 == name { sub(/.*=/, "", $3); print $3 }' "$WORK/dump" | head -n 1)
T=$named
same "by/comm and by/pid" "$(count "pid == one && ns >= t")" "$(in_view "by/comm/$NAME/by/pid/$one")"
same "in the other order" "$(count "pid == one && ns >= t")" "$(in_view "by/pid/$one/by/comm/$NAME")"

# ---- times --------------------------------------------------------------------------------------

T=$(awk '{ print $1 }' "$WORK/samples" | sort -n | sed -n "$((total / 3))p")
U=$(awk '{ print $1 }' "$WORK/samples" | sort -n | sed -n "$((total / 2))p")
newest=$(awk '{ print $1 }' "$WORK/samples" | sort -n | tail -n 1)
same "since" "$(count "ns >= t")" "$(in_view "since/$(seconds "$T")")"
same "until" "$(count "ns < t")" "$(in_view "until/$(seconds "$T")")"
same "since and until" "$(count "ns >= t && ns < u")" "$(in_view "since/$(seconds "$T")/until/$(seconds "$U")")"
same "since, pid and cpu" "$(count "ns >= t && pid == one && cpu == 0")" \
	"$(in_view "by/cpu/0/since/$(seconds "$T")/by/pid/$one")"
same "last" "$(count "ns >= u")" "$(in_view "last/$((newest - U))ns")" # it is stopped: of the newest sample
same "last of all time" "$total" "$(in_view last/1000h)"
# by the wall clock: the CLOCK of a copy has both times of one moment
read -r mono wall < <(awk '$2 == "clock" { sub(/.*=/, "", $3); sub(/.*=/, "", $4); print $3, $4; exit }' "$WORK/dump")
now=$((newest - mono + wall))
same "since @ after the last sample" 0 "$(in_view "since/@$((now / 1000000000 + 2))")"
same "until @ after the last sample" "$total" "$(in_view "until/@$(date -u -d "@$((now / 1000000000 + 2))" +%FT%TZ)")"
same "values within a time" "$(awk -v u="$U" '$1 >= u { print $3 }' "$WORK/samples" | sort -u)" \
	"$(ls "$MNT/views/since/$(seconds "$U")/by/pid" | sort)"

# ---- all views, and copies ----------------------------------------------------------------------

part=$MNT/views/by/comm/$NAME
for view in $(cd "$MNT/views" && ls -p | grep -v /); do
	if [ "$view" = metrics ] || [ "$view" = sched ]; then
		continue
	fi
	cat "$part/$view" >"$WORK/view" && [ -s "$WORK/view" ] || fail "$view of a part"
done
same "a part and the whole have the same views" "$(ls "$MNT/views" | grep -v -e '^ctf$' -e '^metrics$' -e '^sched$')" "$(ls "$part")"
cp -r "$MNT/views/by/event" "$WORK/copy" || fail "by/event can't be copied"
same "files of the copy" "$(($(ls "$part" | wc -l) * 2))" "$(find "$WORK/copy" -type f | wc -l)"

# ---- what is no query ---------------------------------------------------------------------------

# refused PATH ERRNO-TEXT REASON: opening it fails so, and kperr's last line has the reason
refused() {
	fails_with "$2" cat "$MNT/views/$1"
	tail -n 1 "$MNT/kperr" | grep -qF -- "$3" || fail "$1: kperr says $(tail -n 1 "$MNT/kperr")"
}
refused last/10/flat "No such file" "'10' is no duration"
refused last/0s/flat "No such file" "'0s' is no duration"
refused last/-1s/flat "No such file" "'-1s' is no duration"
refused last/99999999999999999999h/flat "No such file" "'99999999999999999999h' is too long"
refused last/9999999h/flat "No such file" "'9999999h' is too long"
refused since/99999999999999999999/flat "No such file" "'99999999999999999999' is too late"
refused since/yesterday/flat "No such file" "'yesterday' is no time, and no message in kptrace"
refused since/@never/flat "No such file" "'never' is no time, and no message in kptrace"
refused until/1x/flat "No such file" "'1x' is no time"
refused since/@2026-13-01T00:00:00/flat "No such file" "is no time"
refused until/18446744074/flat "No such file" "is too late"
refused since/@2600-01-01T00:00:00/flat "No such file" "is too late"
refused since/99999999999999999999-deploy/flat "No such file" "is no time, and no message in kptrace"
refused by/pid/1x/flat "No such file" "'1x' is no number of a process"
refused by/pid/4294967296/flat "No such file" "is no number of a process"
refused by/cpu/0-1/flat "No such file" "is no number of a CPU"
refused by/comm/a%2/flat "No such file" "two hexadecimal digits"
refused by/comm/a%00b/flat "No such file" "two hexadecimal digits"
refused last/1s/last/2s/flat "No such file" "'last' is in this path already"
refused by/pid/1/last/1s/by/pid/2/flat "No such file" "'pid' is in this path already"
refused "by/comm/$(printf 'x%.0s' {1..256})/flat" "name too long" "more than 255 bytes"
refused by/pid/1/ctf "Operation not supported" "ctf is not made of samples"
refused last/1s/metrics "Operation not supported" "metrics is not made of samples"
refused by/comm/no-such-program/flat "No data available" "no sample of this part is held"
refused by/exe/%2Fno%2Fsuch/folded "No data available" "no sample of this part is held"
fails_with "No such file" cat "$MNT/views/by/nothing/x/flat"
fails_with "No such file" cat "$MNT/views/last/1s/nothing"
fails_with "Is a directory" cat "$MNT/views/last/1s/by"
fails_with "Operation not permitted" mkdir "$MNT/views/last/1s/new"
fails_with "Operation not permitted" rmdir "$MNT/views/last/1s"
fails_with "Permission denied" bash -c 'echo x >"$1"' - "$MNT/views/last/1s/flat"
same "'..' is the folder above" "$(count "pid == one")" "$(in_view "by/cpu/../pid/$one/last/..")"

# ---- nothing is left ----------------------------------------------------------------------------


for ((i = 1; i <= 300; i++)); do
	[ -d "$MNT/views/last/${i}s/by/pid/$i/by/cpu" ] || fail "last/${i}s"
done
few_nodes() {
	[ "$(stat_of fs.nodes)" -lt 700 ]
}
wait_for few_nodes # the kernel keeps 512 folders at most, and what is in use
# a working folder stays as it is, and a file is read to its end after its folder was left
cd "$MNT/views/by/pid/$one" || fail "cd"
ls "$MNT/views/by/pid" >/dev/null
same "in a working folder" "$(count "pid == one")" "$(awk '{ n += $NF } END { print n + 0 }' folded)"
exec {held}<folded
cd / || exit
for ((i = 1; i <= 20; i++)); do
	[ -d "$MNT/views/by/pid/$i" ] || fail "by/pid/$i"
done
same "an open file" "$(count "pid == one")" "$(awk '{ n += $NF } END { print n + 0 }' <&"$held")"
exec {held}<&-

# ---- while it runs, `last` counts from now ---------------------------------------------------------

put kpctl clear
put kpctl start
"$WORK/$NAME" 200 >/dev/null
has_samples() {
	cat "$MNT/views/last/100s/by/comm/$NAME/flat" >/dev/null 2>&1
}
wait_for has_samples
check "the last time is shown while it runs" [ "$(in_view "last/100s/by/comm/$NAME")" -gt 10 ]
put kptrace "half/way"
put kptrace "half/way and more"
"$kprof" mark -s "$SOCKET" "sent" || fail "kprof mark"
U=$(sed -n 's/^\[\([0-9]*\)\.\([0-9]*\)\]:cpu[0-9]*: half\/way$/\1\2/p' "$MNT/kptrace")
"$WORK/$NAME" 200 >/dev/null
put kpctl stop
"$kprof" dump "$MNT/kpdata" | awk '$2 ~ /^(kern|user)_trace$/ { sub(/.*=/, "", $3); print $3 }' >"$WORK/times"
same "since a mark" "$(awk -v u="$U" '$1 >= u { n++ } END { print n + 0 }' "$WORK/times")" \
	"$(in_view since/half%2Fway)"
same "until a mark" "$(awk -v u="$U" '$1 < u { n++ } END { print n + 0 }' "$WORK/times")" \
	"$(in_view until/@half%2Fway)"
check "a mark that kprof mark sent" [ "$(in_view since/sent)" -gt 0 ]
same "of the time before the start" 0 "$(in_view "until/$(seconds "$newest")")"

serve_end
