#!/bin/bash
# SPDX-License-Identifier: MIT
# control: Commands are carried out in order and can be interrupted. `hold` and -o akaros end a run with an
# open file.
KPROFS=${KPROFS_CANNED:-$PWD/tests/fs/kprofs_canned}
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

state_is() {
	[ "$(stat_of state)" = "$1" ]
}

held() {
	stat -c %s "$MNT/kpdata"
}

# the newest line of kperr without time and writer
last_refusal() {
	tail -n 1 "$MNT/kperr" | sed 's/^[0-9]*\.[0-9]\{9\} pid [0-9]* uid [0-9]* //'
}

tree_answers() {
	check "ls answers" timeout 5 ls -l "$MNT" >"$WORK/ls"
	check "mpstat answers" timeout 5 cat "$MNT/mpstat" >"$WORK/ls"
}

waiting_commands_are() {
	[ "$(stat_of fs.waiting_commands)" = "$1" ]
}

# put_killable FILE TEXT: in the background, as a program that does nothing else; its pid: $!
put_killable() {
	dd if=/dev/stdin of="$MNT/$1" conv=notrunc status=none <<<"$2" 2>/dev/null &
}

now_ms() {
	date +%s%3N
}

serve

# ---- lines ---------------------------------------------------------------------------------------

printf 'prof_qlimit 1\nprof_qlimit 1\n  prof_qlimit \t 0x10' >"$MNT/kpctl"
same "three lines are three commands" 288 "$(held)"
fails_with "Invalid argument" put kpctl $'prof_qlimit 1\nbogus\nprof_qlimit 1'
same "before the refused line, not after it" 304 "$(held)"
same "the refusal" "kpctl line 2: 'bogus': unknown word; usage: start | stop | flush | clear | event \
SPEC[,SPEC...]|default | cpus LIST|all | stack user|kernel|both|dwarf|none [DEPTH] | only EXPR|all | prof_qlimit KB | \
prof_cpubufsz KB | mode discard|overwrite | snapshot NAME [after TIME] | hold" "$(last_refusal)"
fails_with "No such file" put kpctl 'event nonsense'
same "an errno of the profiler's, and the word's usage" \
	"kpctl line 1: 'event nonsense': no event 'nonsense' in the can; usage: event SPEC[,SPEC...]|default" \
	"$(last_refusal)"
fails_with "Invalid argument" put kpctl Start
check "a word that is nearly right" grep -q "'Start': unknown word: did you mean 'start'?; usage: start" \
	"$MNT/kperr"
put kpctl help
check "help leaves the usage" grep -q "'help': what can be written is; usage: start | stop" "$MNT/kperr"
put kpctl 'prof_cpubufsz 1'
same "a success with a note" "kpctl line 1: 'prof_cpubufsz 1': the can has no buffers" "$(last_refusal)"
lines=$(wc -l <"$MNT/kperr")
put kpctl clear
same "a plain success leaves no line" "$lines" "$(wc -l <"$MNT/kperr")"
same "cleared" 0 "$(held)"

# ---- commands that take long, and interruption ---------------------------------------------------

put kpctl 'event slow'
put_killable kpctl start
first=$!
wait_for state_is starting
tree_answers
put kpctl 'event quick' & # waits behind it
second=$!
wait_for waiting_commands_are 1
same "kpctl can be read meanwhile" "event slow" "$(timeout 5 head -n 1 "$MNT/kpctl")"
put_killable kpctl 'prof_qlimit 1'
third=$!
wait_for waiting_commands_are 2
kill "$third"
wait_for has_ended "$third"
tree_answers
check "start is still under way" state_is starting
kill "$first"
wait_for has_ended "$first"
ended_well "the command behind it" "$second"
same "the interrupted start left nothing running" stop "$(tail -n 1 "$MNT/kpctl")"
same "what was killed before it began was not done" 0 "$(held)"

# SIGCHLD is no reason to cancel a command. SIGTERM to the server ends a start that is under way.
put kpctl 'event slow'
bash -c 'trap : CHLD; echo start >"$1"' shell "$MNT/kpctl" 2>"$WORK/shell.err" &
first=$!
wait_for state_is starting
kill -CHLD "$first"
for _ in 1 2 3 4 5 6 7 8 9 10; do
	tree_answers
done
check "start goes on when a job of the shell ends" state_is starting
serve_end TERM
wait_for has_ended "$first"
check "the start failed" test "$(wait "$first"; echo $?)" != 0

# ---- hold ----------------------------------------------------------------------------------------

serve
put kpctl start
put kpctl 'prof_qlimit 10'
same "without hold a run outlives its file" start "$(tail -n 1 "$MNT/kpctl")"
put kpctl stop
same "and so does the capture" 160 "$(held)"

exec 3>"$MNT/kpctl"
echo hold >&3
echo hold >&3
echo start >&3
begun=$(now_ms)
fails_with "busy" put kpctl stop
took=$(($(now_ms) - begun))
check "the open waited a second for a close, not more" test "$took" -ge 900 -a "$took" -le 5000
same "why" "kpctl: another open file holds the run; it ends when that file is closed" \
	"$(last_refusal | sed 's/; usage:.*//')"
same "reading is not refused" start "$(timeout 5 tail -n 1 "$MNT/kpctl")"
check "nor does it wait" test "$(($(now_ms) - begun - took))" -le 800
tree_answers
put kpctl stop 3>&- & # waits for the close, which comes
waiting=$!
wait_for waiting_commands_are 1
exec 3>&-
ended_well "an open that met a close on its way" "$waiting"
same "the close stopped the run" stop "$(tail -n 1 "$MNT/kpctl")"
same "and forgot the capture" 0 "$(held)"

# a second file with hold, which was open before the first one had it
exec 3>"$MNT/kpctl" 4>"$MNT/kpctl"
echo hold >&3
fails_with "busy" bash -c 'echo hold >&4'
exec 3>&- 4>&-

# the holder is killed
bash -c 'exec 3>"$1/kpctl"; echo hold >&3; echo start >&3; exec sleep 1000' - "$MNT" &
holder=$!
wait_for state_is running
kill -9 "$holder"
wait_for state_is stopped

# an open that waits can be killed
exec 3>"$MNT/kpctl"
echo hold >&3
put_killable kpctl stop
waiting=$!
wait_for waiting_commands_are 1
kill "$waiting"
wait_for waiting_commands_are 0
wait_for has_ended "$waiting"
exec 3>&-
put kpctl stop
serve_end

# ---- -o akaros -----------------------------------------------------------------------------------

serve -o akaros
put kpctl start
same "each close ends the run" stop "$(tail -n 1 "$MNT/kpctl")"
exec 3<"$MNT/kpctl"
fails_with "busy" cat "$MNT/kpctl"
fails_with "busy" put kpctl start
fails_with "busy" bash -c ': <>"$1"' - "$MNT/kpctl"
exec 3<&-
exec 3<>"$MNT/kpctl"
echo start >&3
echo 'prof_qlimit 10' >&3
same "while it is open the run goes on" running "$(stat_of state)"
same "with its capture" 160 "$(held)"
exec 3>&-
wait_for state_is stopped
# open, write, close in a row never meet their own former open
i=0
while [ $((i += 1)) -le "${KPROFS_OPENS:-2000}" ]; do
	echo start >"$MNT/kpctl" || break
done
check "opens in a row" test "$i" -gt "${KPROFS_OPENS:-2000}"
serve_end
