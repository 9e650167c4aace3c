#!/bin/bash
# SPDX-License-Identifier: MIT
# view_debuginfod: A debuginfod server on loopback has the only debug file of a stripped program. Without
# the mount option no request reaches it, with any environment. With it the functions have names.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

FOLDER=${srcdir:-.}/tests/fs
STAND_IN= # pid of the server
for tool in gcc objcopy strip readelf python3; do
	command -v $tool >/dev/null || { echo "$tool is missing"; exit 77; }
done
PATH=$PATH:/sbin:/usr/sbin ldconfig -p | grep -q 'libdebuginfod\.so\.1 ' ||
	{ echo "libdebuginfod is missing"; exit 77; }

# fetched files are kept below the home of the user who mounts
mkdir "$WORK/home"
export HOME=$WORK/home
unset XDG_CACHE_HOME

# ---- the program and its debug file ---------------------------------------------------------------

cat >"$WORK/burner.c" <<'END'
#include <stdlib.h>
#include <time.h>
__attribute__((noinline)) static unsigned int burn_unnamed(unsigned int x, unsigned int n)
{
	while (n--)
		x = x * 1103515245u + 12345u;
	return x;
}
int main(void)
{
	unsigned int x = 1;
	while (clock() < CLOCKS_PER_SEC / 2)
		x = burn_unnamed(x, 1000000);
	return x == 7;
}
END
gcc -O1 -g -Wl,--build-id -o "$WORK/burner" "$WORK/burner.c" ||
	{ echo "the program can't be compiled here"; exit 77; }
id=$(readelf -n "$WORK/burner" 2>/dev/null | sed -n 's/.*Build ID: //p')
[ -n "$id" ] || { echo "no build-id here"; exit 77; }
mkdir -p "$WORK/server/buildid/$id"
objcopy --only-keep-debug "$WORK/burner" "$WORK/server/buildid/$id/debuginfo"
strip "$WORK/burner"

# ---- the server -----------------------------------------------------------------------------------

python3 "$FOLDER/debuginfod.py" "$WORK/server" "$WORK/port" >"$WORK/requests" 2>"$WORK/python.err" &
STAND_IN=$!
end_stand_in() {
	kill "$STAND_IN" 2>/dev/null
	wait "$STAND_IN" 2>/dev/null
}
wait_for [ -e "$WORK/port" ] || { cat "$WORK/python.err"; end_stand_in; exit 1; }
export DEBUGINFOD_URLS=http://127.0.0.1:$(cat "$WORK/port")

capture() {
	put kpctl "event cpu-clock:freq=999"
	if ! put kpctl start 2>/dev/null; then
		echo "no sampling here: $(tail -n 1 "$MNT/kperr")"
		end_stand_in
		exit 77
	fi
	"$WORK/burner"
	put kpctl stop
}

# ---- without the option, and with it ----------------------------------------------------------------

serve
capture
check "flat without the option" grep -q ' burner+0x' "$MNT/views/flat"
for view in flat flame.svg; do
	check "$view has no name" [ "$(grep -c burn_unnamed "$MNT/views/$view")" = 0 ]
done
same "requests without the option" "" "$(cat "$WORK/requests")"
serve_end

serve -o debuginfod
capture
check "flat with the option" grep -q ' burn_unnamed .*/burner$' "$MNT/views/flat"
check "it was asked for the file" grep -q "GET /buildid/$id/debuginfo .*200" "$WORK/requests"
check "lines with the option" grep -q burn_unnamed "$MNT/views/flame.svg"
same "what was fetched is kept" 1 "$(grep -c "GET /buildid/$id/debuginfo .*200" "$WORK/requests")"
serve_end

# a server that is not there any more costs names, not the view; what is kept is found without it
end_stand_in
rm -r "$WORK/home/.cache"
serve -o debuginfod
capture
check "flat without a server" grep -q 'burner+0x' "$MNT/views/flat"
serve_end
