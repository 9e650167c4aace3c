#!/bin/bash
# SPDX-License-Identifier: MIT
# cmd_completions: What kprof and kprofs offer to shells: all commands and options of their help, and values
# of every kind that begin with what was typed. tests/fs/completions.sh tries the scripts for the shells.
# shellcheck source=tests/fs/cmd_lib.sh
. "${srcdir:-.}/tests/fs/cmd_lib.sh"

# offered WORD...: the words for the last one, sorted, in one line
offered() {
	"$KPROF" --complete "$@" | tail -n +2 | cut -f 1 | LC_ALL=C sort | paste -sd ' '
}

# more WORD...: what the shell adds
more() {
	"$KPROF" --complete "$@" | head -n 1
}

commands=$("$KPROF" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p')
[ -n "$commands" ] || fail "no commands"
same "the commands" "$(printf '%s\n' --help --version -V help "$commands" | sort | paste -sd ' ')" "$(offered '')"
same "a command" record "$(offered rec)"
same "its help" "record	$("$KPROF" --help | sed -n 's/^  record *//p')" "$("$KPROF" --complete rec | tail -n 1)"
same "help of a command" report "$(offered help rep)"
same "nothing behind no command" "words" "$("$KPROF" --complete recrod -e '')"
same "nothing behind the command of help" "words" "$("$KPROF" --complete help record '')"

# every option, long and short
for command in $commands; do
	"$KPROF" "$command" --help >"$tmp/help"
	same "$command: the options" \
		"$(sed -n 's/^  \(-.\), \(--[a-z_-]*\).*/\1\n\2/p; s/^      \(--[a-z_-]*\).*/\1/p' "$tmp/help" |
			sort | paste -sd ' ')" "$(offered "$command" -)"
done
same "options where there is no argument" "$(offered doctor -)" "$(offered doctor '')"

# words
same "a format" "flame.svg flat" "$(offered convert -t fl)"
same "a mode of stacks" dwarf "$(offered record --stack d)"
same "ways to take stacks" "dwarf fp none" "$(offered record --call-graph '')"
same "a rate" max "$(offered record -F m)"
same "an order" total "$(offered top --sort to)"
same "a field" process "$(offered report --by pr)"
same "a further field" "pid,comm pid,cpu" "$(offered report -b pid,c)"
same "a field to filter by" "pid= process=" "$(offered report -i p)"
same "a field of a sample" "comm,sym comm,symoff" "$(offered script -F comm,s)"

same "a file to compare with" "files" "$(more top --versus '')"

# probes
same "kinds of probes" "interval:" "$(offered probe in)"
same "a rule of its own" "BEGIN" "$(offered probe -n BE)"
if [ -r /sys/kernel/tracing/events/sched/sched_switch/id ]; then
	same "a probe" "tracepoint:sched:sched_switch" "$(offered probe -l tracepoint:sched:sched_swi)"
	same "a system call" "syscall:getppid:entry syscall:getppid:return" "$(offered probe syscall:getppid: |
		tr ' ' '\n' | sort | paste -sd ' ')"
fi

# events, without the tracepoints that a machine may have
events() {
	offered "$@" | tr ' ' '\n' | grep -v ':$' | paste -sd ' '
}
same "an event" page-faults "$(events record -e page-)"
same "a further event" "cpu-clock,page-faults" "$(events record -e cpu-clock,page-)"
same "modifiers" "cpu-clock:freq= cpu-clock:k cpu-clock:period= cpu-clock:u" "$(offered record -e cpu-clock:)"
same "a further modifier" "cs,cpu-clock:u:period=" "$(offered record -e cs,cpu-clock:u:pe)"
same "an event after a modifier" "cpu-clock:u,page-faults" "$(events stat --event cpu-clock:u,page-)"
same "times" "offcpu wall" "$(events record -e of) $(events record -e wal)"
same "modifiers of times" "offcpu:min= wall:freq=" "$(offered record -e offcpu:m) $(offered record -e wall:f)"
same "stat does not take them" "" "$(events stat -e of)"
same "events of the kernel" "syscalls" "$(events trace -e syscalls)"
same "a system call by its name" "syscalls,getppid" "$(offered trace -e syscalls,getpp)"
same "a system call" "syscall:getppid" "$(offered trace -e syscall:getpp)"
same "behind =" "--event=page-faults" "$(events stat --event=page-)"
same "in the word of the letter's value" "" "$(offered stat -epage-)"
if [ -r /sys/kernel/tracing/events/sched/sched_switch/id ]; then
	same "a tracepoint" "cs,sched:sched_switch" "$(offered record -e cs,sched:sched_sw | tr ' ' '\n' | grep 'h$')"
	same "a tracepoint for trace" "openat,sched:sched_switch" "$(offered trace -e openat,sched:sched_swi)"
	offered record -e sch | tr ' ' '\n' | grep -qx sched: || fail "no sched: among $(offered record -e sch)"
fi

# processes and users of the machine
"$KPROF" --complete stat -p "1,$$" | grep -qx "1,$$	$(cat "/proc/$$/comm")" ||
	fail "the process $$ is not among $("$KPROF" --complete stat -p "1,$$")"
same "a user" root "$(offered top -u roo)"

# words of control files
same "a word of kpctl" "stack start stop" "$(offered ctl st)"
same "an argument" "dwarf" "$(offered ctl stack d)"
same "no second one" "" "$(offered ctl stack dwarf '')"
same "an event" "cpu-clock,page-faults" "$(events ctl event cpu-clock,page-)"
same "a switch" "0 1 off on toggle" "$(offered ctl -f events/all '')"
same "that of one event" "0 1 off on toggle" "$(offered ctl --file=events/a:b '')"
same "the words of mpstat" "reset" "$(offered ctl -f mpstat re)"
mkdir -p "$tmp/mount/cpu" "$tmp/folder"
touch "$tmp/mount/kpctl" "$tmp/mount/kpdata" "$tmp/file"
chmod 400 "$tmp/mount/kpdata"
same "a file that can be written, a folder" "cpu/ kpctl" "$(offered ctl -m "$tmp/mount" -f '')"
same "no option behind a word" "" "$(offered ctl start -)"

# what the shell knows better
same "a file" files "$(more report "$tmp/f")"
same "a file to write" files "$(more record -o "$tmp/f")"
same "a page" files "$(more report --html=x)"
same "a folder" folders "$(more dump --mount "$tmp/f")"
same "another command" "command 2" "$(more record '')"
same "another command behind options" "command 4" "$(more record -e cycles ba)"
same "its arguments" "command 5" "$(more record -g -o x bash --)"
same "the same behind --" "command 3" "$(more stat -- bash)"
same "an option is none" words "$(more record -o bash --ev)"
same "nothing for a number" "words" "$("$KPROF" --complete record --duration '')"

# names in the capture that the command would read
if command -v objdump >/dev/null; then
	offset=$(objdump -d -F tests/fixtures/victim | sed -n 's/.*<victim_one> (File Offset: \(0x[0-9a-f]*\)).*/\1/p')
	build=$PWD
	tests/fixtures/mkcapture "$build/tests/fixtures/victim" - "$offset" "$offset" >"$tmp/kprof.data"
	cd "$tmp" || exit 1
	cp kprof.data other
	same "a function" victim_one "$(offered annotate vict)"
	same "a function to filter by" "function=victim_one" "$(offered report -i function=v)"
	same "in a file of the arguments" "function=victim_one" "$(offered report other -x function=v)"
	same "with =" "--include=function=victim_one" "$(offered report --include=function=v)"
	same "one of several functions" "a,victim_one" "$(offered top --symbols a,v)"
	same "a process" "$("$KPROF" report -n --by pid kprof.data | awk '$1 ~ /%$/ { print $NF }')" "$(offered report --pid '')"
	same "an event of the capture" "$("$KPROF" report -j kprof.data | sed -n 's/.*"event": *"\([^"]*\)".*/\1/p' | sort -u)" \
		"$(offered annotate --event '')"
	mkfifo pipe
	same "no wait for a pipe" "" "$(timeout 20 "$KPROF" --complete report pipe -i function= | tail -n +2)"
	cd "$build" || exit 1
fi

# kprofs
server() {
	"$PWD/kprofs" --complete "$@" | cut -f 1 | paste -sd ' '
}
same "a mount point" folders "$(server '')"
same "its options" "words --foreground --help --version" "$(server --)"
same "a mount option" "words allow_other,trace_size= allow_other,trace_max= allow_other,trace_kernel=" \
	"$(server -o allow_other,trace)"
same "its values" "words mpstat=auto mpstat=procstat mpstat=bpf" "$(server -o mpstat=)"
same "who may attach" "words over,attach=owner" "$(server -o over,attach=o)"
[ "$failures" = 0 ]
