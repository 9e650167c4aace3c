#!/bin/bash
# SPDX-License-Identifier: MIT
# view_interrupt: A process that opens a view can be killed while symbols are requested, and while it waits
# for another view that requests them. The server then holds nothing of it.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

# A server with a helper that never answers: each file costs the time after which the server gives it up,
# and all of them some minutes.
mkdir "$WORK/bin"
cp "$PWD/tests/fs/kprofs_canned" "$WORK/bin/kprofs"
printf '#!/bin/sh\nexec cat <&3 >/dev/null\n' >"$WORK/bin/kprof-symbols"
chmod +x "$WORK/bin/kprof-symbols"
KPROFS=$WORK/bin/kprofs

# threads NAME N: the server and the process that makes its views have so many of that name
threads() {
	local maker
	maker=$(pgrep -P "$SERVER" -x kp-views)
	[ "$(cat "/proc/$SERVER/task/"*/comm ${maker:+"/proc/$maker/task/"*/comm} 2>/dev/null |
		grep -cx "$1")" = "$2" ]
}

# open_view NAME: in the background, its pid in OPENER
open_view() {
	cat "$MNT/views/$1" >/dev/null 2>>"$WORK/cat.err" &
	OPENER=$!
}

# ends WHAT SIGNAL PID: the signal ends it, though the view is not made
ends() {
	kill "-$2" "$3"
	wait_for has_ended "$3" || { fail "$1 was not ended by SIG$2"; exit; }
	wait "$3" 2>/dev/null
}

serve

# a process that only receives SIGCHLD, all the time, still gets its view
cat >"$WORK/opener.pl" <<'END'
use POSIX;
$SIG{CHLD} = sub { };
my $teller = fork;
if (!$teller) {
	my $opener = getppid;
	select(undef, undef, undef, 0.002) while getppid == $opener && kill CHLD => $opener;
	exit;
}
my $fd = POSIX::open($ARGV[0], O_RDONLY);
print defined $fd ? "made\n" : "$!\n";
kill KILL => $teller;
END
if command -v perl >/dev/null; then
	put kpctl "stack files 2"
	same "a view whose opener gets SIGCHLD" made "$(perl "$WORK/opener.pl" "$MNT/views/flat")"
	put kpctl clear
fi

put kpctl "stack files 200"
open_view flat
asking=$OPENER
wait_for threads kp-names 1 # it exists while a view requests symbols
open_view flat
waiting=$OPENER
open_view tree
sharing=$OPENER
wait_for threads kp-view 3
open_view folded
queued=$OPENER

ends "who waits for another view's names" KILL "$waiting"
ends "who waits in the queue" TERM "$queued"
ends "who waits to ask too" KILL "$sharing"
check "the first one goes on" threads kp-names 1
check "it is there still" kill -0 "$asking"
ends "who asks for names" KILL "$asking"
wait_for threads kp-view 0
wait_for threads kp-names 0
check "its helpers were ended" [ "$(stat_of symbols.helpers.killed)" -ge 1 ]
check "it had asked" [ "$(stat_of symbols.asked)" -ge 1 ]

# with the model that views share
open_view tree
asking=$OPENER
wait_for threads kp-names 1
open_view folded
waiting=$OPENER
wait_for threads kp-view 2
ends "who waits for another view's model" TERM "$waiting"
ends "who makes it" TERM "$asking"
wait_for threads kp-view 0

# kprof prints on a terminal that it waits for names, and can be ended too
if command -v python3 >/dev/null; then
	cp "$PWD/kprof" "$WORK/bin/kprof"
	cat "$MNT/kpdata" >"$WORK/kpdata"
	for words in "convert -t folded" "report"; do
		# shellcheck disable=SC2086 # words
		python3 "${srcdir:-.}/tests/fs/cmd_terminal.py" "$WORK/bin/kprof" $words "$WORK/kpdata" -- \
			'kprof: symbolizing file [0-9]+ of 200: /file' $'\003' >"$WORK/screen"
		same "kprof $words, interrupted" 254 $? # -SIGINT
	done
fi

# and the end of the server
open_view tree
wait_for threads kp-names 1
serve_end
