#!/bin/bash
# SPDX-License-Identifier: MIT
# report_html: report.html of a known capture shows its figures in Chromium, its selections and keys work,
# and no name in it is executed.
# shellcheck source=tests/fs/view_lib.sh
. "${srcdir:-.}/tests/fs/view_lib.sh"

need python3
"$kprof" report --html "$tmp/report.html" "$tmp/kpdata" || fail "kprof report --html"
convert report.html "$tmp/converted.html"
cmp "$tmp/report.html" "$tmp/converted.html" || fail "kprof convert writes another page"
"$kprof" report "$tmp/kpdata" >"$tmp/report" || fail "kprof report"

# a path that would end the script, if it were not escaped, with bytes that are no UTF-8
name="</script><script>document.title='run'</script><img src=x>"$'\001\377'
mkdir -p "$tmp/${name%/*}"
cp "$victim" "$tmp/$name"
"$mkstory" "$tmp/$name" "$id" "$(offset "$victim" victim_one)" "$(offset "$victim" victim_two)" \
	>"$tmp/hostile" || fail "mkstory"
convert report.html "$tmp/hostile.html" "$tmp/hostile"

# an earlier capture in which the two functions have changed their places
"$mkstory" "$tmp/victim" "$id" "$(offset "$victim" victim_two)" "$(offset "$victim" victim_one)" \
	>"$tmp/earlier" || fail "mkstory"
"$kprof" report --html "$tmp/difference.html" --diff "$tmp/earlier" "$tmp/kpdata" ||
	fail "kprof report --html --diff"
"$kprof" report --html "$tmp/none.html" --json "$tmp/kpdata" 2>"$tmp/err"
same "status of options that exclude each other" 2 $?
[ ! -e "$tmp/none.html" ] || fail "a page is written in spite of the error"

# a capture of before there were times of the CPUs in it
tests/fixtures/mkcapture "$tmp/victim" - 0x100 0x200 >"$tmp/timeless" || fail "mkcapture"
convert report.html "$tmp/timeless.html" "$tmp/timeless"

python3 "${srcdir:-.}/tests/fs/report_html.py" "$tmp/report.html" "$tmp/report" "$tmp/hostile.html" \
	"$tmp/difference.html" "$tmp/timeless.html"
case $? in
0) ;;
77) exit 77 ;;
*) fail "report.html" ;;
esac
exit $failed
