#!/bin/bash
# SPDX-License-Identifier: MIT
# install_libkprof: after `make install` programs in C and C++ are compiled and linked with what
# pkg-config says, and start without further settings. Installed in a mount namespace, over the
# prefix, with a copy of /etc for the cache of the dynamic linker; so the machine stays as it is.
set -u

if [ "$(id -u)" != 0 ] || ! unshare -m true 2>/dev/null; then
	echo "needs root and mount namespaces"
	exit 77
fi
for tool in ldconfig pkg-config gcc g++; do
	command -v $tool >/dev/null || { echo "no $tool"; exit 77; }
done
if nm -D .libs/libkprof.so 2>/dev/null | grep -q ' U __[at]san_'; then
	echo "built with a sanitizer: an ordinary program can't be linked with it"
	exit 77
fi
if [ -z "${INSTALL_ALONE-}" ]; then
	INSTALL_ALONE=1 exec unshare -m "$0"
fi

tmp=$(mktemp -d)
made= # the prefix, if it was made here
clean_up() {
	if [ -n "$made" ]; then
		umount -l "$made" 2>/dev/null
		rmdir "$made"
	fi
	rm -rf --one-file-system "$tmp"
}
trap clean_up EXIT
fail() {
	echo "FAIL: $*"
	exit 1
}

# setting NAME: as make has it
setting() {
	printf 'include Makefile\nprint-setting:\n\t@echo %s\n' "\$($1)" |
		MAKEFLAGS='' make -s --no-print-directory -f - print-setting
}

prefix=$(setting prefix)
libdir=$(setting libdir)
[[ $prefix == /* && $libdir == "$prefix"/* ]] || fail "prefix '$prefix', libdir '$libdir'"
case $PWD/:$prefix in
"$prefix"/*:* | *:/usr) echo "the prefix can't be covered: $prefix"; exit 77 ;;
esac
[ -d "$prefix" ] || { mkdir -p "$prefix" && made=$prefix; } || fail "$prefix"

mkdir "$tmp/etc" "$tmp/cache" "$tmp/prefix"
cp -a /etc/ld.so.conf* "$tmp/etc/" || fail "no ld.so.conf"
cp -a /etc/passwd /etc/group "$tmp/etc/"
[ ! -d /etc/alternatives ] || cp -a /etc/alternatives "$tmp/etc/"
# as a prefix that is in the linker's path, which /usr/local is on most systems
mkdir -p "$tmp/etc/ld.so.conf.d"
echo "$libdir" >"$tmp/etc/ld.so.conf.d/kprof-test.conf"
[ ! -d /var/cache/ldconfig ] || mount --bind "$tmp/cache" /var/cache/ldconfig
mount --bind "$tmp/etc" /etc || fail "/etc"
mount --bind "$tmp/prefix" "$prefix" || fail "$prefix"

MAKEFLAGS='' make -s install >"$tmp/log" 2>&1 || fail "make install: $(cat "$tmp/log")"
export PKG_CONFIG_PATH=$libdir/pkgconfig
unset LD_LIBRARY_PATH

cat >"$tmp/program.c" <<'END'
#include <kprof/kprof.h>

int main(void)
{
	kprof_printf("one event");
	KPROF_EVENT(installed, event, "%d", 1);
	return 0;
}
END
cp "$tmp/program.c" "$tmp/program.cc"
# shellcheck disable=SC2046 # words
gcc -o "$tmp/in_c" "$tmp/program.c" $(pkg-config --cflags --libs kprof) || fail "it is not linked in C"
# shellcheck disable=SC2046 # words
g++ -o "$tmp/in_cc" "$tmp/program.cc" $(pkg-config --cflags --libs kprof) || fail "it is not linked in C++"
for program in in_c in_cc; do
	ldd "$tmp/$program" | grep -q "libkprof.so.0 => $libdir/libkprof.so.0" ||
		fail "$program: $(ldd "$tmp/$program")"
	"$tmp/$program" || fail "$program does not run: status $?"
done
"$prefix/bin/kprof" --version >/dev/null || fail "the installed kprof does not run"
