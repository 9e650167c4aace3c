# SPDX-License-Identifier: MIT
# mark: the time that `kprof mark` takes, its start and end included, beside that of a program that does nothing.

marks=100

# repeat COMMAND...: runs it $marks times; prints the ms that one takes
repeat() {
	local i begin=${EPOCHREALTIME/.}
	for ((i = 0; i < marks; i++)); do
		"$@" || return
	done
	calc "(${EPOCHREALTIME/.} - $begin) / $marks / 1000"
}

nothing=$(type -P true) || fail "needs true"
times=() nothings=()
start_server
until_true 10 [ -S "$KPROF_SOCKET" ] || fail "the server does not listen"
for ((round = 0; round < rounds; round++)); do
	times+=("$(repeat "$build/kprof" mark "a mark")") || fail "kprof mark failed"
	nothings+=("$(repeat "$nothing")") || fail "$nothing failed"
done
written=$(grep -c ': a mark$' "$mount/kptrace") || true
((written == marks * rounds)) || fail "$written messages in kptrace"
figure time ms '< 2' "${times[@]}"
figure true ms - "${nothings[@]}"
