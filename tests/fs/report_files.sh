#!/bin/bash
# SPDX-License-Identifier: MIT
# report_files: kprof report and kprof dump read complete, cut and invalid captures, named in every way.
# Messages and the exit status are those of the manual.
set -u

kprof=$PWD/kprof
mkcapture=$PWD/tests/fixtures/mkcapture
victim=$PWD/tests/fixtures/victim
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0

# check WHAT COMMAND...: the command must succeed
check() {
	local what=$1
	shift
	if ! "$@"; then
		echo "FAILED: $what: $*"
		failed=1
	fi
}

# run STATUS ARGUMENTS...: kprof must end with STATUS; its outputs are in $tmp/out and $tmp/err
run() {
	local expected=$1 status
	shift
	"$kprof" "$@" > "$tmp/out" 2> "$tmp/err"
	status=$?
	if [ $status -ne "$expected" ]; then
		echo "FAILED: kprof $*: exit $status, not $expected"
		cat "$tmp/err"
		failed=1
	fi
}

has() { grep -qE -- "$2" "$tmp/$1"; }
# same_report: as $tmp/good, but for the first line, which names the source
same_report() { cmp "$tmp/good" <(tail -n +2 "$tmp/out"); }
empty() { [ ! -s "$tmp/$1" ]; }

# offset FILE FUNCTION: where it is in the file, by another tool
offset() {
	objdump -d -F "$1" | sed -n "s/.*<$2> (File Offset: \(0x[0-9a-f]*\)).*/\1/p" | head -1
}

build_id() { readelf -n "$1" 2>/dev/null | sed -n 's/.*Build ID: //p'; }

one=$(offset "$victim" victim_one)
two=$(offset "$victim" victim_two)
id=$(build_id "$victim")
if [ -z "$one" ] || [ -z "$two" ] || [ -z "$id" ]; then
	echo "objdump and readelf are needed to find the functions of a program"
	exit 77
fi
cp "$victim" "$tmp/victim"
"$mkcapture" "$tmp/victim" "$id" "$one" "$two" > "$tmp/kpdata" || exit 1

# ---- source lines, by another tool ----------------------------------------------------------------
line=$(addr2line -e "$victim" "0x$(nm "$victim" | sed -n 's/^\([0-9a-f]*\) . victim_one$/\1/p')" | sed 's/ (.*//')
if [[ $line == /*:[1-9]* ]]; then
	run 0 report --by line,function --no-head "$tmp/kpdata"
	line=${line##*/} # its folder may be told as the compiler was told it
	check "the line of victim_one" has out "^ 70\.00% +700  cpu-clock:freq=1000  .*$line +victim_one$"
	run 0 report --no-head --include "line=*$line" "$tmp/kpdata"
	check "only that line" [ "$(grep -c '%' "$tmp/out")" = 1 ]
fi

# ---- a good capture -------------------------------------------------------------------------------
run 0 report "$tmp/kpdata"
check "the first function" has out "^ 70\.00% +700  cpu-clock:freq=1000  prog +victim_one +$tmp/victim$"
check "the second function" has out "^ 30\.00% +300  cpu-clock:freq=1000  prog +victim_two +$tmp/victim$"
check "idle is below" has out "^   idle +100  cpu-clock:freq=1000 "
check "the head" has out "^# 1100 samples of 1 event in 0\.999 s on 2 CPUs$"
check "nothing is missing" empty err
check "the source" has out "^# $tmp/kpdata, written [0-9]+ s ago$"
tail -n +2 "$tmp/out" >"$tmp/good"

# ---- the same by every way ------------------------------------------------------------------------
run 0 report - < "$tmp/kpdata"
check "standard input" same_report
cat "$tmp/kpdata" | "$kprof" report - > "$tmp/out" 2> "$tmp/err"
check "a pipe" same_report
run 0 report -m "$tmp"
check "a mount" same_report
run 0 report --mount="$tmp"
check "a mount, long" same_report
mkfifo "$tmp/fifo"
cat "$tmp/kpdata" > "$tmp/fifo" &
run 0 report "$tmp/fifo"
wait
check "a fifo" same_report

run 0 dump "$tmp/kpdata"
check "a line for each record" [ "$(wc -l < "$tmp/out")" -eq 1107 ]
check "the first line" has out '^0 clock time=1 wall=2 byte_order=little name="CLOCK_MONOTONIC"$'
check "the build-id" has out "^[0-9]+ build_id time=10 pid=10 addr=0x550000000000 id=$id$"
check "a sample" has out "^[0-9]+ kern_trace time=99000000 event=1 pid=idle cpu=1 frames=1 trace=0xffffffff81000000$"
cp "$tmp/out" "$tmp/good.dump"
cat "$tmp/kpdata" | "$kprof" dump - > "$tmp/out" 2> "$tmp/err"
check "dump of a pipe" cmp "$tmp/good.dump" "$tmp/out"

# ---- other rows -----------------------------------------------------------------------------------
run 0 report --by file "$tmp/kpdata"
check "all of the file" has out "^100\.00% +1000  cpu-clock:freq=1000  $tmp/victim$"
check "the head" has out "^# 1100 samples of 1 event in 0\.999 s on 2 CPUs$"
check "idle is named" has out "^# idle: 100 samples of cpu-clock:freq=1000$"
run 0 report --by function --exclude '*_one' --no-head "$tmp/kpdata"
check "a filter" [ "$(cat "$tmp/out")" = "  share  samples  event                function
 30.00%      300  cpu-clock:freq=1000  victim_two
# left out: 700 samples that the filters exclude" ]
run 0 report --include function=victim_two --include process=prog --by pid -n "$tmp/kpdata"
check "filters of other fields" has out "^ 30\.00% +300  cpu-clock:freq=1000  10$"
run 0 report --symbols victim_two,none --comms prog --dsos victim --by pid -n "$tmp/kpdata"
check "the same as perf has it" has out "^ 30\.00% +300  cpu-clock:freq=1000  10$"
run 0 report --dsos "$tmp/victim" -S victim_one --by function -n "$tmp/kpdata"
check "the whole path" [ "$(grep -c '% ' "$tmp/out")" = 1 ]
run 0 report --symbols 'victim_*' -n "$tmp/kpdata"
check "names of perf's options are no globs" has out "^# left out: 1000 samples that the filters exclude$"
# the first line has the age of the file
run 0 report --children "$tmp/kpdata"
tail -n +2 "$tmp/out" >"$tmp/children"
run 0 report --total "$tmp/kpdata"
check "--children is --total" cmp <(tail -n +2 "$tmp/out") "$tmp/children"
run 0 report --no-children "$tmp/kpdata"
check "--no-children is the default" cmp <(tail -n +2 "$tmp/out") "$tmp/good"
run 2 report --include proc=prog "$tmp/kpdata"
check "what is no field" has err "no field proc .there are: event, host, process, pid, .*line, function, file.;"
run 0 report --exclude 'operator==*' --exclude '*<T=int>' --by function -n "$tmp/kpdata"
check "what is of a function" has out " victim_one$"
run 0 report --percent-limit 50 --by function -n "$tmp/kpdata"
check "above the threshold" has out " victim_one$"
check "below the threshold" has out "^# left out: 1 row below 50%, 300 samples$"
run 0 report --order function --reverse --by function -n "$tmp/kpdata"
check "sorted by name" [ "$(awk 'NR > 1 { print $4 }' "$tmp/out" | tr '\n' ' ')" = "victim_two victim_one " ]
run 0 report -n --sort overhead,sample,dso,sym "$tmp/kpdata"
cp "$tmp/out" "$tmp/with_share"
run 0 report -n --sort dso,sym "$tmp/kpdata"
check "share and samples, which perf can leave out, are always there" cmp -s "$tmp/with_share" "$tmp/out"
cp "$tmp/out" "$tmp/perf_names"
run 0 report -n --by file,function "$tmp/kpdata"
check "perf's names of fields" cmp "$tmp/perf_names" "$tmp/out"
run 0 report -g "$tmp/kpdata"
check "the heading" has out "^# $tmp/kpdata, written"
check "the summary" has out "^# 1100 samples of 1 event"
check "no sample without a name is reported" [ "$(grep -c 'without a symbol' "$tmp/out")" = 0 ]
check "the functions with their callers" has out "^ 70\.00% +700  - victim_one  \($tmp/victim\)$"
check "the callers end at the process" has out "^ 70\.00% +700 +prog$"
run 0 report -g --percent-limit 40 "$tmp/kpdata"
check "the limit of a tree" has out "^ 30\.00% +300 .*1 more below 40\.00%$"
run 0 report -G "$tmp/kpdata"
check "the processes with their functions" has out "^100\.00% +0\.00% +1000  - prog$"
check "what they call" has out "^ 30\.00% +30\.00% +300    - victim_two"
# a file without symbols is one row
cp "$tmp/victim" "$tmp/stripped"
if strip "$tmp/stripped"; then
	"$mkcapture" "$tmp/stripped" "$id" "$one" "$two" > "$tmp/bare" || exit 1
	run 0 report -n --by function "$tmp/bare"
	check "one row for all addresses" [ "$(awk 'NR > 1' "$tmp/out")" = "100.00%     1000  cpu-clock:freq=1000  [stripped]" ]
	run 0 report "$tmp/bare"
	check "the same by default" has out "^100\.00% +1000  cpu-clock:freq=1000  prog +\[stripped\] +$tmp/stripped$"
	run 0 report -n --addresses --by function "$tmp/bare"
	check "each address" [ "$(grep -c ' stripped+0x' "$tmp/out")" -ge 2 ]
fi
run 0 report --events --by function -n "$tmp/kpdata"
check "events as columns" has out "^ 70\.00% +700  victim_one$"
"$mkcapture" "$tmp/victim" "$id" "$two" "$one" > "$tmp/after" || exit 1
run 0 report --diff "$tmp/kpdata" --by function -n "$tmp/after"
check "less" has out "^ 70\.00% +700 +30\.00% +300 +-40\.00%  .* victim_one$"
check "more" has out "^ 30\.00% +300 +70\.00% +700 +\+40\.00%  .* victim_two$"
: > "$tmp/none"
run 0 report --diff "$tmp/none" --by function -n "$tmp/kpdata"
check "new" has out "^ +- +- +70\.00% +700 +\+\+\+  .* victim_one$"
run 0 report --json --by function "$tmp/kpdata"
if command -v python3 > /dev/null; then
	check "JSON" [ "$(python3 -c '
import json, sys
report = json.load(sys.stdin)
for row in report["rows"]:
    print(row["function"], row["counts"][0]["samples"], row["counts"][0]["share"])
print(report["captures"][0]["samples"], report["captures"][0]["events"][0]["idle_samples"])
' < "$tmp/out" | tr '\n' ' ')" = "victim_one 700 70.0 victim_two 300 30.0 1100 100 " ]
fi
for wrong in "--by nothing" "--sort nothing" "--order nothing" "--order pid" "--percent-limit x" "--percent-limit 101" \
	"--callers --by file" "--events --diff $tmp/after" "--percent-limit nan" "-g --by file" "-G --callers" "-g --json"; do
	# shellcheck disable=SC2086 # words
	run 2 report $wrong "$tmp/kpdata"
	check "$wrong shows nothing" empty out
done

# ---- symbols --------------------------------------------------------------------------------------
objcopy --only-keep-debug "$tmp/victim" "$tmp/apart.dbg"
strip "$tmp/victim"
run 0 report --addresses "$tmp/kpdata"
check "stripped" has out "^ 70\.00% +700  [^ ]+ +prog +victim\+$one "
check "without symbols" has out "^# 1000 samples \(100\.00%\) at addresses without a symbol$"
(cd "$tmp" && objcopy --add-gnu-debuglink=apart.dbg victim)
run 0 report "$tmp/kpdata"
check "a separate debug file" same_report
cp "$kprof" "$tmp/victim"
run 0 report --addresses "$tmp/kpdata"
check "another file" has out "^ 70\.00% +700  [^ ]+ +prog +victim\+$one "
rm "$tmp/victim"
run 0 report --addresses "$tmp/kpdata"
check "no file" has out "^ 70\.00% +700  [^ ]+ +prog +victim\+$one "

# ---- bad captures ---------------------------------------------------------------------------------
size=$(stat -c %s "$tmp/kpdata")
head -c $((size - 1)) "$tmp/kpdata" > "$tmp/cut"
run 1 report --addresses "$tmp/cut"
check "the readable part" has out "^ 70\.00% +700 "
check "where it is cut" has err "^kprof: $tmp/cut: offset $((size - 34)): cut: 33 bytes of a record are left$"
run 1 dump "$tmp/cut"
check "all lines but one" [ "$(wc -l < "$tmp/out")" -eq 1106 ]
check "where the dump is cut" has err "^kprof: $tmp/cut: offset $((size - 34)): cut: 33 bytes"

# a record of type TASK with too little in it, in the middle
{ printf '\101\001\001'; cat "$tmp/kpdata"; } > "$tmp/bad"
run 1 report --addresses "$tmp/bad"
check "the rest" has out "^ 70\.00% +700 "
check "the bad record" has err "^kprof: $tmp/bad: offset 0: type 65 with too few bytes for its fields$"
run 1 dump "$tmp/bad"
check "the rest, dumped" [ "$(wc -l < "$tmp/out")" -eq 1107 ]

head -c 4096 /dev/zero > "$tmp/zeros"
run 1 report "$tmp/zeros"
check "zeros" has err "^kprof: $tmp/zeros: offset 0: no record begins here$"
printf '\005\001x\006\000' > "$tmp/other"
run 1 report "$tmp/other"
check "another format" has err "no record of a known type"
: > "$tmp/empty"
run 0 report "$tmp/empty"
check "an empty capture" has out "^# nothing was captured: there are no records$"
run 0 dump "$tmp/empty"
check "an empty dump" empty out
run 1 report "$tmp"
check "a directory" has err "Is a directory"
run 1 report "$tmp/nowhere"
check "no such file" has err "^kprof: $tmp/nowhere: No such file or directory$"
run 1 report -m "$tmp/nowhere"
check "no such mount" has err "^kprof: $tmp/nowhere/kpdata: No such file or directory$"
"$kprof" report "$tmp/kpdata" > /dev/full 2> "$tmp/err"
check "a full disk" [ $? -eq 1 ]
check "a full disk, said" has err "can't be written: No space left on device"

# ---- usage ----------------------------------------------------------------------------------------
run 0
check "no command" has out "^usage: kprof COMMAND"
run 0 help
run 0 help report
check "help of a command" has out "^usage: kprof report"
check "its examples" has out "^Examples:$"
check "an example" has out "^  kprof report --callers$"
run 2 help nonsense
run 2 repotr
check "the nearest command" has err "no command repotr; nearest: report"
run 2 nonsense
check "which command" has err "no command nonsense"
for command in report dump; do
	run 0 $command --help
	several=; [ $command = dump ] || several="\\.\\.\\."
	check "help" has out "^usage: kprof $command \[OPTIONS\] \[FILE$several\]$"
	run 2 $command --nonsense
	check "an unknown option" has err "^kprof $command: no option --nonsense; see kprof $command --help$"
	check "which shows nothing" empty out
	run 2 $command -Z
	check "an unknown letter" has err "no option -Z"
	run 2 $command -m
	check "a missing argument" has err "needs an argument"
	run 2 $command -m "$tmp" "$tmp/kpdata"
done
run 2 dump "$tmp/kpdata" "$tmp/kpdata"
# every command is in kprof(1), every option in the page of its command or there
run 0 --help
sed -n 's/^  \([a-z]*\)  .*/\1/p' "$tmp/out" > "$tmp/commands"
check "commands" [ -s "$tmp/commands" ]
while read -r command; do
	page=${srcdir:-.}/man/kprof.1
	grep -q "^\.Ss kprof $command\$" "$page" || {
		echo "FAILED: $command is not in kprof(1)"
		failed=1
	}
	[ ! -e "${srcdir:-.}/man/kprof-$command.1" ] || page=${srcdir:-.}/man/kprof-$command.1
	"$kprof" "$command" --help | sed -nE 's/^  (-.,|   ) --([a-z_-]+).*/\2/p' > "$tmp/options"
	check "options of $command" [ -s "$tmp/options" ]
	while read -r option; do
		grep -Eq "^\.It (.* , )?Fl Fl $option( |\$)" "$page" || {
			echo "FAILED: --$option of $command is not in $page"
			failed=1
		}
	done < "$tmp/options"
done < "$tmp/commands"
run 0 --help
check "the commands" has out "^  report "
check "the commands" has out "^  dump "
run 0 -V
check "the version" has out "^kprofs [0-9]"
run 0 --version
check "the version" has out "^kprofs [0-9]"

# ---- colours are for terminals ---------------------------------------------------------------------
export KPROF_PAGER=cat # the colours are tried without a pager
terminal="python3 ${srcdir:-.}/tests/fs/cmd_terminal.py"
run 0 report "$tmp/kpdata"
check "none in a file" [ -z "$(tr -d '[:print:]\n' < "$tmp/out")" ]
for arguments in "" "--by process"; do
	# shellcheck disable=SC2086 # words
	TERM=xterm NO_COLOR='' $terminal "$kprof" report --stdio $arguments "$tmp/kpdata" -- > "$tmp/out"
	check "red where it is hot" has out $'^\x1b\\[31m ?[0-9.]+%.*\x1b\\[0m'
	# shellcheck disable=SC2086 # words
	TERM=xterm NO_COLOR=1 $terminal "$kprof" report --stdio $arguments "$tmp/kpdata" -- > "$tmp/out"
	check "none where they are not wanted" [ "$(grep -c $'\x1b' "$tmp/out")" = 0 ]
done

# a pager on a terminal, as git uses it
unset KPROF_PAGER
PAGER="sed 's/^/paged: /'" TERM=xterm $terminal "$kprof" report --stdio "$tmp/kpdata" -- > "$tmp/out"
check "a pager" has out "^paged: # $tmp/kpdata, written"
PAGER="sed 's/^/paged: /'" KPROF_PAGER='' TERM=xterm $terminal "$kprof" report --stdio "$tmp/kpdata" -- > "$tmp/out"
check "none is wanted" [ "$(grep -c paged "$tmp/out")" = 0 ]
PAGER="sed 's/^/paged: /'" TERM=xterm $terminal "$kprof" report --stdio --no-pager "$tmp/kpdata" -- > "$tmp/out"
check "none by the option" [ "$(grep -c paged "$tmp/out")" = 0 ]
PAGER="sed 's/^/paged: /'" run 0 report "$tmp/kpdata"
check "none in a file" [ "$(grep -c paged "$tmp/out")" = 0 ]

# without the program that finds names: it is not beside this copy of kprof, and may not be installed
mkdir "$tmp/alone"
cp "$kprof" "$tmp/alone/kprof"
"$mkcapture" "$victim" - 0x100 0x200 >"$tmp/capture"
"$tmp/alone/kprof" report "$tmp/capture" >"$tmp/out" 2>"$tmp/err"
missing=$(sed -n 's/^kprof: functions have no names: \(.*\): No such file or directory$/\1/p' "$tmp/err")
if [ -n "$missing" ]; then
	check "the file that the message names is missing" [ ! -e "$missing" ]
else
	check "nothing is said" empty err
fi
run 0 report "$tmp/capture"
check "with it nothing is said" empty err

exit $failed
