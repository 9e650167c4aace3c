#!/bin/sh
# SPDX-License-Identifier: MIT
# man_example: the program in libkprof(3) is examples/trace.c, and every name that the library
# exports, or that kprof.h and typed.h define for use, is in the page.
set -eu
src=${srcdir:-$(dirname "$0")/../..}
page=$src/man/libkprof.3
status=0

shown=$(awk '/^\.Sh EXAMPLES/ { examples = 1 }
	/^\.Bd -literal/ && examples && !n++ { on = 1; next }
	/^\.Ed/ { on = 0 } on' "$page" | sed 's/\\e/\\/g')
real=$(sed 1,2d "$src/examples/trace.c")
[ "$shown" = "$real" ] || { echo "the example in $page is not examples/trace.c"; status=1; }

names=$(sed -n -e 's/^#define \(KPROF_EVENT\|kprof_[a-z]*\)(.*/\1/p' \
	-e 's/^KPROF_API_ void \(kprof_[a-z]*\)(.*/\1/p' \
	-e 's/^KPROF_TYPED_API_ .* \(kprof_[a-z_]*\)(.*/\1/p' \
	"$src/include/kprof/kprof.h" "$src/include/kprof/typed.h")
[ -n "$names" ] || { echo "no names in the headers"; exit 1; }
for name in $names; do
	grep -q "^\.Nm $name\( ,\)\{0,1\}\$" "$page" || { echo "$name is not in $page"; status=1; }
done
exit $status
