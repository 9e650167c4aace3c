#!/bin/bash
# SPDX-License-Identifier: MIT
# typed_events: The typed calls of libkprof write the same events and texts as the macros, from C, Python,
# Go and Rust. A language that is not installed is left out.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

examples=${srcdir:-.}/examples
export KPROF_SOCKET=$SOCKET

# lines_of PROGRAM: its lines in kptrace without time, CPU, pid and thread
lines_of() {
	sed -n "s,^\[[^]]*\]:cpu[0-9?]*: $1\[[0-9/]*\],,p" "$MNT/kptrace"
}

serve
for event in none one two many; do
	put "events/typed:$event" 1
done
for language in python go rust; do
	put "events/example:$language" 1
done

check "the typed calls return what typed.h says" tests/fs/typed
same "events and texts of a C program" " typed:none: no arguments
 typed:one: one is text
 typed:two: two are 1 and two
 typed:many: -7 18446744073709551615 2.5 text (null) 0x1234 cut
: a text of 100 % and %s
: (null)" "$(lines_of typed | grep -v 'the first text')"
same "the first text of a program that attaches by it" ": the first text" "$(lines_of typed | head -n 1)"

# example PROGRAM LANGUAGE NAME: what the example of a language writes
example() {
	same "events and texts of $3" " example:$2: number 1, 2.50, three
: hello from $3" "$(lines_of "$1")"
}

if nm -D .libs/libkprof.so 2>/dev/null | grep -q ' U __[at]san_'; then
	echo "left out: other languages can't load an instrumented libkprof"
	serve_end
	exit
fi

LD_LIBRARY_PATH=$PWD/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

python=$(command -v python3)
if [ -n "$python" ] && "$python" -c 'import ctypes' 2>/dev/null; then
	ln -s "$("$python" -c 'import sys; print(sys.executable)')" "$WORK/python"
	"$WORK/python" "$examples/kprof.py" || fail "kprof.py: status $?"
	example python python Python
	fails_with "not the arguments" env KPROF_SOCKET="$SOCKET" PYTHONPATH="$examples" \
		PYTHONDONTWRITEBYTECODE=1 "$python" -c '
import kprof, time
event = kprof.Event("example", "python", "number %d, %.2f, %s")
while not event.is_on: time.sleep(0.01)
event(1)'
	fails_with "Invalid argument" env PYTHONPATH="$examples" PYTHONDONTWRITEBYTECODE=1 \
		"$python" -c 'import kprof; kprof.Event("example", "python", "%n")'
else
	echo "left out: no Python with ctypes"
fi

# Go caches what it compiles below the home folder
if command -v go >/dev/null && [ "$(HOME=$WORK go env CGO_ENABLED)" = 1 ]; then
	HOME=$WORK GOCACHE=$WORK/go-cache GO111MODULE=off GOFLAGS='' \
		CGO_CFLAGS="-I$(realpath "${srcdir:-.}")/include" CGO_LDFLAGS="-L$PWD/.libs" \
		go build -o "$WORK/go_events" "$examples/events.go" || fail "events.go does not compile"
	"$WORK/go_events" || fail "events.go: status $?"
	example go_events go Go
else
	echo "left out: no Go with cgo"
fi

if command -v rustc >/dev/null && rustc --version >/dev/null 2>&1; then
	rustc --edition 2021 -D warnings -L "$PWD/.libs" -o "$WORK/rust_events" "$examples/events.rs" ||
		fail "events.rs does not compile"
	"$WORK/rust_events" || fail "events.rs: status $?"
	example rust_events rust Rust
else
	echo "left out: no Rust"
fi

serve_end
