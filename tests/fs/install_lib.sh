# SPDX-License-Identifier: MIT
# install_lib.sh: an installation that the machine does not notice: `make install` in a mount namespace,
# over the prefix, with a copy of /etc for the cache of the dynamic linker.
#
# Sourced as the first thing of a script that runs in the build folder. It runs the script once more in a
# mount namespace of its own. Exit status 77: the machine lacks what is needed, and the output says what.
# $INSTALL_TMP/before lists what was in the prefix. Afterwards the installed programs, and a `cc` and `c++` that use the options of this build, are in PATH.

set -u
export LC_ALL=C

if [ "$(id -u)" != 0 ]; then
	echo "needs root"
	exit 77
fi
for tool in unshare flock ldconfig pkg-config gcc g++; do
	command -v $tool >/dev/null || { echo "no $tool"; exit 77; }
done
if [ -z "${INSTALL_ALONE-}" ]; then
	export INSTALL_ALONE=1
	# where the root is no mount of its own, as in a chroot, its propagation can't be changed
	if unshare -m true 2>/dev/null; then
		exec unshare -m "$0"
	elif unshare -m --propagation unchanged true 2>/dev/null; then
		exec unshare -m --propagation unchanged "$0"
	fi
	echo "needs mount namespaces"
	exit 77
fi

INSTALL_TMP=$(mktemp -d)
install_made= # the prefix, if it was made here
install_clean_up() {
	if [ -n "$install_made" ]; then
		umount -l "$install_made"
		rmdir "$install_made"
	fi
	rm -rf --one-file-system "$INSTALL_TMP"
}
trap install_clean_up EXIT
trap 'exit 1' HUP INT TERM

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
[ -d "$prefix" ] || { mkdir -p "$prefix" && install_made=$prefix; } || fail "$prefix"

mkdir "$INSTALL_TMP/etc" "$INSTALL_TMP/cache" "$INSTALL_TMP/prefix"
cp -a /etc/ld.so.conf* "$INSTALL_TMP/etc/" || fail "no ld.so.conf"
cp -a /etc/passwd /etc/group "$INSTALL_TMP/etc/"
[ ! -d /etc/alternatives ] || cp -a /etc/alternatives "$INSTALL_TMP/etc/"
# as a prefix that is in the linker's path, which /usr/local is on most systems
mkdir -p "$INSTALL_TMP/etc/ld.so.conf.d"
echo "$libdir" >"$INSTALL_TMP/etc/ld.so.conf.d/kprof-test.conf"
[ ! -d /var/cache/ldconfig ] || mount --bind "$INSTALL_TMP/cache" /var/cache/ldconfig
mount --bind "$INSTALL_TMP/etc" /etc || fail "/etc"
mount --bind "$INSTALL_TMP/prefix" "$prefix" || fail "$prefix"

# the folders that Debian makes, and a file of another program in one that is ours as well
mkdir -p "$prefix"/{bin,etc,games,include,lib,sbin,share/man,src} "$prefix/share/zsh/site-functions"
touch "$prefix/share/zsh/site-functions/_other"
(cd "$prefix" && find . | LC_ALL=C sort) >"$INSTALL_TMP/before"

# Two scripts may install from the build folder at once, and libtool relinks in it.
MAKEFLAGS='' flock . make -s install >"$INSTALL_TMP/log" 2>&1 || fail "make install: $(cat "$INSTALL_TMP/log")"

# a program that is linked with an instrumented libkprof needs the instrumentation itself
flags=$(setting SAN_FLAGS)
mkdir "$INSTALL_TMP/bin"
for pair in cc:gcc c++:g++; do
	printf '#!/bin/sh\nexec %s "$@" %s\n' "${pair#*:}" "$flags" >"$INSTALL_TMP/bin/${pair%:*}"
done
chmod +x "$INSTALL_TMP"/bin/*
export PATH=$INSTALL_TMP/bin:$prefix/bin:$prefix/sbin:$PATH PKG_CONFIG_PATH=$libdir/pkgconfig
unset LD_LIBRARY_PATH KPROF_MOUNT KPROF_SOCKET
