#!/bin/bash
# SPDX-License-Identifier: MIT
# completions: In bash, zsh and fish on a terminal, from an installation's folders, Tab completes kprof and
# kprofs: commands, options, events after commas and colons, names that occur in a capture, files and
# folders, and the command that is recorded. Shells that are not installed are left out.
#
# usage: completions.sh [SHELL...]
# shellcheck source=tests/fs/cmd_lib.sh
. "${srcdir:-.}/tests/fs/cmd_lib.sh"
TUI_WORK=$tmp # until a shell begins
# shellcheck source=tests/fs/tui_lib.sh
. "${srcdir:-.}/tests/fs/tui_lib.sh"

build=$PWD
MAKEFLAGS='' make -s install-dist_bashcompletionDATA install-dist_zshcompletionDATA install-dist_fishcompletionDATA \
	DESTDIR="$tmp/root" datadir=/share >"$tmp/make.log" 2>&1 || fail "install: $(cat "$tmp/make.log")"
share=$tmp/root/share
mkdir "$tmp/bin" "$tmp/work" "$tmp/home" "$tmp/work/some_folder"
ln -s "$build/kprof" "$build/kprofs" "$build/kprof-symbols" "$tmp/bin"
# libtool's programs start others beside them
cat >"$tmp/bin/say_words" <<'END'
#!/bin/sh
echo "$@"
END
chmod +x "$tmp/bin/say_words"
touch "$tmp/work/capture_file"
if command -v objdump >/dev/null; then
	offset=$(objdump -d -F tests/fixtures/victim | sed -n 's/.*<victim_one> (File Offset: \(0x[0-9a-f]*\)).*/\1/p')
	tests/fixtures/mkcapture "$build/tests/fixtures/victim" - "$offset" "$offset" >"$tmp/work/kprof.data"
fi
same "one file for a name" "$(find "$share" -type f | wc -l)" 5

cat >"$tmp/bashrc" <<END
PS1='READY> '
bind 'set bell-style none'
. $share/bash-completion/completions/kprofs
END
# with the functions that most systems load, which find our file
{
	echo ". /usr/share/bash-completion/bash_completion"
	cat "$tmp/bashrc"
} >"$tmp/bash_completion"
cat >"$tmp/home/.zshrc" <<END
PS1='READY> '
unsetopt beep
fpath=($share/zsh/site-functions \$fpath)
autoload -Uz compinit
compinit -u -d $tmp/zcompdump
END
mkdir -p "$tmp/home/.config/fish"
cat >"$tmp/home/.config/fish/config.fish" <<END
function fish_prompt
	echo 'READY> '
end
set -g fish_autosuggestion_enabled 0
set -p fish_complete_path $share/fish/vendor_completions.d
END

start_of() {
	case $1 in
	bash) echo "exec bash --noprofile --rcfile '$tmp/bashrc' -i" ;;
	bash_completion) echo "exec bash --noprofile --rcfile '$tmp/bash_completion' -i" ;;
	zsh) echo "exec zsh -d -i" ;;
	fish) echo "exec fish -i" ;;
	esac
}

# completes TYPED LINE: Tab makes LINE of what was typed; then the line is removed
completes() {
	type_text "$1"
	keys Tab
	shows "$shell: $1" "^READY> $2( |\$)"
	keys C-u
	shows "$shell: an empty line" '^READY> *$'
}

is_empty_line() {
	screen | grep . | tail -n 1 | grep -q '^READY> *$'
}

# lists TYPED PATTERN: Tab (in bash the second one) lists this among others
lists() {
	type_text "$1"
	keys Tab
	[[ $shell != bash* ]] || keys Tab
	shows "$shell: $1" "$2"
	keys C-c
	looks is_empty_line || fail "$shell: no new line: $(screen)"
	keys C-l
	hides "$shell: an empty screen" "$2"
}

try() {
	shell=$1
	tui_run 120 80 "cd '$tmp/work'; export HOME='$tmp/home' ZDOTDIR='$tmp/home' XDG_CONFIG_HOME='$tmp/home/.config' \
		XDG_DATA_HOME='$tmp/home' PATH='$tmp/bin':\"\$PATH\" LC_ALL=C.UTF-8
		$(start_of "$shell")"
	shows "$shell begins" '^READY> *$'

	completes 'kprof rec' 'kprof record'
	completes 'kprof record --swi' 'kprof record --switch-output'
	completes 'kprof record --stack dw' 'kprof record --stack dwarf'
	completes 'kprof record -e page-f' 'kprof record -e page-faults'
	completes 'kprof record -e cpu-clock,page-f' 'kprof record -e cpu-clock,page-faults'
	completes 'kprof record -e cpu-clock:per' 'kprof record -e cpu-clock:period='
	completes 'kprof stat --event=cpu-clock:u,minor' 'kprof stat --event=cpu-clock:u,minor-faults'
	completes 'kprof report -b pid,com' 'kprof report -b pid,comm'
	completes 'kprof report -i func' 'kprof report -i function='
	completes 'kprof ctl stack dw' 'kprof ctl stack dwarf'
	completes 'kprof report capture_f' 'kprof report capture_file'
	completes 'kprof report --html=capture_f' 'kprof report --html=capture_file'
	completes 'kprof dump -m some_f' 'kprof dump -m some_folder/'
	completes 'kprof record -g say_w' 'kprof record -g say_words'
	completes 'kprof record -g say_words capture_f' 'kprof record -g say_words capture_file'
	completes 'kprof record --freq=99 say_w' 'kprof record --freq=99 say_words'
	completes 'kprofs --for' 'kprofs --foreground'
	completes 'kprofs -o over,attach=own' 'kprofs -o over,attach=owner'
	completes 'kprofs -o allow_o' 'kprofs -o allow_other'
	completes 'kprofs some_f' 'kprofs some_folder/'
	if [ -e "$tmp/work/kprof.data" ]; then
		completes 'kprof annotate victim_o' 'kprof annotate victim_one'
		completes 'kprof report -i function=victim_o' 'kprof report -i function=victim_one'
	fi
	lists 'kprof ' 'annotate.*'
	lists 'kprof convert -t ' 'perf\.data'
	tui_end
}

# begin SHELL: beside the others
begin() {
	TUI_WORK=$tmp/terminal.$1
	mkdir "$TUI_WORK"
	(trap tui_end EXIT && try "$1" && [ "$failures" = 0 ]) &
	pids+=($!)
}

pids=()
[ $# != 0 ] || set -- bash zsh fish
for name; do
	if command -v "$name" >/dev/null; then begin "$name"; else echo "no $name"; fi
done
if [ -e /usr/share/bash-completion/bash_completion ] && [[ " $* " == *' bash '* ]]; then
	begin bash_completion
fi
[ ${#pids[@]} != 0 ] || exit 77
for pid in "${pids[@]}"; do
	wait "$pid" || failures=$((failures + 1))
done
[ "$failures" = 0 ]
