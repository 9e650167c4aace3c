#!/bin/bash
# SPDX-License-Identifier: MIT
# install_libkprof: After `make install`, programs in C and C++ are compiled and linked with the flags that
# pkg-config prints, and start without further settings.
# shellcheck source=tests/fs/install_lib.sh
. "${srcdir:-.}/tests/fs/install_lib.sh"

cat >"$INSTALL_TMP/program.c" <<'END'
#include <kprof/kprof.h>

int main(void)
{
	kprof_printf("one event");
	KPROF_EVENT(installed, event, "%d", 1);
	return 0;
}
END
cp "$INSTALL_TMP/program.c" "$INSTALL_TMP/program.cc"
# shellcheck disable=SC2046 # words
cc -o "$INSTALL_TMP/in_c" "$INSTALL_TMP/program.c" $(pkg-config --cflags --libs kprof) || fail "it is not linked in C"
# shellcheck disable=SC2046 # words
c++ -o "$INSTALL_TMP/in_cc" "$INSTALL_TMP/program.cc" $(pkg-config --cflags --libs kprof) ||
	fail "it is not linked in C++"
for program in in_c in_cc; do
	ldd "$INSTALL_TMP/$program" | grep -q "libkprof.so.0 => $libdir/libkprof.so.0" ||
		fail "$program: $(ldd "$INSTALL_TMP/$program")"
	"$INSTALL_TMP/$program" || fail "$program does not run: status $?"
done
"$prefix/bin/kprof" --version >/dev/null || fail "the installed kprof does not run"
