# SPDX-License-Identifier: MIT
# cmd_lib.sh: what the scripts share that run words of kprof without a mount. Sourced; a script ends
# with `[ "$failures" = 0 ]`.

set -u
export LC_ALL=C

KPROF=$PWD/kprof
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# a command that chooses a mount must not read one of another test
export KPROF_MOUNT=$tmp/none
failures=0

fail() {
	echo "FAIL: $*"
	failures=$((failures + 1))
}

# same WHAT EXPECTED FOUND: two texts
same() {
	[ "$2" = "$3" ] || fail "$1: expected '$2', found '$3'"
}

# kprof_ends STATUS ARGUMENTS...: output and messages are in $tmp/out and $tmp/err
kprof_ends() {
	local expected=$1 status
	shift
	"$KPROF" "$@" >"$tmp/out" 2>"$tmp/err"
	status=$?
	[ "$status" = "$expected" ] || fail "kprof $*: status $status, not $expected: $(cat "$tmp/err")"
}
