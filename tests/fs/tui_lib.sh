# SPDX-License-Identifier: MIT
# tui_lib.sh: a program on a terminal of tmux, for scripts that type keys and read the screen. Sourced
# after cmd_lib.sh or lib.sh, which have fail() and same(); needs $TUI_WORK, a folder of the script's own.
# A script calls tui_end before its folder is removed.

command -v tmux >/dev/null || { echo "tmux is missing"; exit 77; }

terminals=0 # each has a server of its own: one that ends may still have its socket

tui() {
	tmux -S "$TUI_WORK/tmux.$terminals" -f /dev/null "$@"
}

# tui_run COLUMNS ROWS SHELL-COMMAND: on a new terminal, which stays when the command has ended
tui_run() {
	terminals=$((terminals + 1))
	tui new-session -d -s test -x "$1" -y "$2" "export TERM=screen; $3
		exec sleep 1000" || { fail "tmux does not start"; exit 1; }
}

tui_end() {
	tui kill-server 2>/dev/null
}

screen() {
	tui capture-pane -p -t test
}

# keys KEY...: as tmux names them
keys() {
	tui send-keys -t test "$@"
}

# type_text TEXT: each character as it is
type_text() {
	tui send-keys -t test -l "$1"
}

# looks COMMAND...: until it succeeds, with a pause without a process; fails after WAIT seconds (60)
looks() {
	local end=$((SECONDS + ${WAIT:-60}))
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || return 1
		read -rt 0.05 <> <(:)
	done
	return 0
}

is_on_screen() {
	screen | grep -Eq -- "$1"
}

is_off_screen() {
	! is_on_screen "$1"
}

# shows WHAT PATTERN: a line of the screen matches it, soon
shows() {
	looks is_on_screen "$2" || fail "$1: nothing matches '$2' on the screen:
$(screen)"
}

# hides WHAT PATTERN: no line of the screen matches it, soon
hides() {
	looks is_off_screen "$2" || fail "$1: '$2' is still on the screen:
$(screen)"
}
