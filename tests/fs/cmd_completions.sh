#!/bin/bash
# SPDX-License-Identifier: MIT
# cmd_completions: The completion script for bash offers the words and options that the help of kprof lists.
# The scripts for other shells have valid syntax, if these shells are installed.
# shellcheck source=tests/fs/cmd_lib.sh
. "${srcdir:-.}/tests/fs/cmd_lib.sh"

scripts=$(cd "${srcdir:-.}/completions" && pwd)

# what the scripts ask
kprof() {
	"$KPROF" "$@"
}

# offered WORD...: behind these words, the last one being typed; sorted, in one line
offered() {
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	_kprof
	printf '%s\n' "${COMPREPLY[@]}" | sort | paste -sd ' '
}

bash -n "$scripts/kprof" || fail "not well formed"
# shellcheck source=completions/kprof
. "$scripts/kprof"
complete -p kprof >/dev/null || fail "nothing is completed behind kprof"

commands=$("$KPROF" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p')
[ -n "$commands" ] || fail "no commands"
same "the commands" "$(printf '%s\n' --help --version -V help "$commands" | sort | paste -sd ' ')" \
	"$(offered kprof '')"
same "a command" record "$(offered kprof rec)"

# every option, long and short
for command in $commands; do
	"$KPROF" "$command" --help >"$tmp/help"
	same "$command: the options" \
		"$(sed -n 's/^  \(-.\), \(--[a-z_-]*\).*/\1\n\2/p; s/^      \(--[a-z_-]*\).*/\1/p' "$tmp/help" | sort | paste -sd ' ')" \
		"$(offered kprof "$command" -)"
done

same "help of a command" "report" "$(offered kprof help rep)"

# values
same "a format" "flame.svg flat" "$(offered kprof convert -t fl)"
same "a mode of stacks" dwarf "$(offered kprof record --stack d)"
same "an order" "total" "$(offered kprof top --sort to)"
same "a field" "process" "$(offered kprof report --by pr)"
same "an event" "page-faults" "$(offered kprof record -e page)"
same "a further event" "cpu-clock,page-faults" "$(offered kprof record -e cpu-clock,page)"
same "a modifier" "period=" "$(offered kprof record -e cpu-clock : p)"
same "all modifiers" "freq= k period= u" "$(offered kprof record -e cpu-clock :)"
same "the same in a new word" "freq= k period= u" "$(offered kprof record -e cpu-clock : '')"
same "an event after a modifier" "u,page-faults" "$(offered kprof stat --event cpu-clock : u,page)"
if command -v objdump >/dev/null; then
	# functions of the capture that annotate would read
	offset=$(objdump -d -F tests/fixtures/victim | sed -n 's/.*<victim_one> (File Offset: \(0x[0-9a-f]*\)).*/\1/p')
	tests/fixtures/mkcapture "$PWD/tests/fixtures/victim" - "$offset" "$offset" >"$tmp/kprof.data"
	same "a function" victim_one "$(cd "$tmp" && offered kprof annotate vict)"
fi
mkdir "$tmp/folder"
touch "$tmp/file"
same "a folder" "$tmp/folder" "$(offered kprof dump --mount "$tmp/f")"
same "a file is left to the shell" "" "$(offered kprof record -o "$tmp/f")"

# behind the command to run nothing is completed by us
same "a command to run" bash "$(offered kprof record -e cycles bash | tr ' ' '\n' | grep -x bash | uniq)"
same "the same behind --" bash "$(offered kprof stat -- bash | tr ' ' '\n' | grep -x bash | uniq)"
same "its options are its own" "" "$(offered kprof record -q -o x bash --)"
same "so are their values" "" "$(offered kprof record bash -e page)"
same "an option's value is no command" "--event" "$(offered kprof record -o bash --ev)"

for shell in zsh fish; do
	script=$scripts/_kprof
	[ $shell = zsh ] || script=$scripts/kprof.fish
	[ -s "$script" ] || fail "nothing for $shell"
	if command -v $shell >/dev/null; then
		$shell -n "$script" || fail "$shell: not well formed"
	fi
done
same "no other shell" 2 "$("$KPROF" --completions csh 2>/dev/null; echo $?)"
[ "$failures" = 0 ]
