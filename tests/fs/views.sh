#!/bin/bash
# SPDX-License-Identifier: MIT
# views: The texts and the picture of a capture contain all its samples, and the known shares of a program.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

# a name of its own: other runs of the tests may run the same program at the same time
NAME=split$$
SPLIT=$WORK/$NAME
cp "$PWD/tests/fixtures/split" "$SPLIT"
PROGRAM_MS=2000
VIEWS="flat tree folded flame.svg"

serve
for view in $VIEWS; do
	same "mode of $view" 400 "$(stat -c %a "$MNT/views/$view")"
	fails_with "No data available" cat "$MNT/views/$view"
	same "why $view has none" "nothing captured yet: echo start > $MNT/kpctl" \
		"$(tail -n 1 "$MNT/kperr" | grep -o 'nothing captured yet: echo start > [^;]*')"
done

put kpctl "event cpu-clock:freq=4999"
if ! put kpctl start 2>/dev/null; then
	echo "no sampling here: $(tail -n 1 "$MNT/kperr")"
	exit 77
fi
"$SPLIT" $PROGRAM_MS >"$WORK/units"
put kpctl stop

# ours VIEW FILE: the lines about the program. Files of other programs may vanish between two reads.
ours() {
	case $1 in
	flat | folded) grep -F "$NAME" "$2" ;;
	# from its line to that of the next process
	tree) awk -v name="$NAME" '/[0-9]  - / { on = $NF == name } on' "$2" ;;
	# name and samples of the frames that are in its file
	flame.svg) awk -v RS='<g>' -v name="/$NAME</title>" '
		index($0, name) { split($0, line, "\n"); print line[1] " " line[2] }' "$2" | sort ;;
	esac
}
for view in $VIEWS; do
	cat "$MNT/views/$view" >"$WORK/$view" || fail "views/$view can't be read"
	check "$view is not empty" [ -s "$WORK/$view" ]
	cp "$MNT/views/$view" "$WORK/copy"
	check "$view is the same again" cmp "$WORK/$view" "$WORK/copy"
	"$PWD/kprof" convert -t "$view" -o "$WORK/copy" -m "$MNT" || fail "kprof convert -t $view"
	check "$view has the program" [ -n "$(ours "$view" "$WORK/$view")" ]
	same "kprof convert's $view" "$(ours "$view" "$WORK/$view")" "$(ours "$view" "$WORK/copy")"
done

# ---- folded: its grammar, its total, its shares -----------------------------------------------

delivered=$(awk '/^event\.1\.cpu\.[0-9]*\.delivered / { sum += $2 } END { print sum }' "$MNT/kpstat")
same "all samples are in folded" "$delivered" "$(awk '{ sum += $NF } END { print sum }' "$WORK/folded")"
same "lines that are no folded stacks" "" \
	"$(grep -Evn '^[^;#]([^;]*[^; ])?(;[^;]*[^; ])* [1-9][0-9]*$' "$WORK/folded")"
same "stacks that are there twice" "" "$(sed 's/ [0-9]*$//' "$WORK/folded" | sort | uniq -d)"

# share_of FUNCTION, of the program's samples in percent: from the stacks that contain it
share_of() {
	awk -v f="$1" -v name="$NAME" '
		index($0, name ";") == 1 { n = $NF; all += n; sub(/ [0-9]+$/, ""); if (index($0 ";", ";" f ";")) part += n }
		END { printf "%.2f", all ? 100 * part / all : 0 }' "$WORK/folded"
}

samples=$(awk -v name="$NAME" 'index($0, name ";") == 1 { n += $NF } END { print n + 0 }' "$WORK/folded")

# near WHAT FOUND EXPECTED: within 2 points, or 4 standard deviations of a share of so many samples
near() {
	awk -v a="$2" -v b="$3" -v n="$samples" 'BEGIN {
		most = n ? 4 * 100 * sqrt(b / 100 * (1 - b / 100) / n) : 0
		if (most < 2)
			most = 2
		exit !(a > b - most && a < b + most)
	}' || fail "$1: $2 percent of $samples samples, not about $3"
}

read -r _ sixty_seventy sixty_thirty forty_seventy forty_thirty <"$WORK/units"
all=$((sixty_seventy + sixty_thirty + forty_seventy + forty_thirty))
percent() {
	awk -v n="$1" -v all="$all" 'BEGIN { print 100 * n / all }'
}
near "call_sixty" "$(share_of call_sixty)" "$(percent $((sixty_seventy + sixty_thirty)))"
near "burn_seventy" "$(share_of burn_seventy)" "$(percent $((sixty_seventy + forty_seventy)))"
near "call_sixty;burn_seventy" "$(share_of "call_sixty;burn_seventy")" "$(percent "$sixty_seventy")"

# ---- tree and flame.svg: the same numbers -------------------------------------------------------

# samples of a function with what it calls, by folded: where it stands below the callers that have most of
# them. A stack that was cut short is another place, in the other two views as well.
count_of() {
	awk -v f="$1" -v name="$NAME" '
		index($0, name ";") == 1 {
			n = $NF
			sub(/ [0-9]+$/, ";")
			at = index($0, ";" f ";")
			if (at)
				sum[substr($0, 1, at)] += n
		}
		END { for (place in sum) if (sum[place] > most) most = sum[place]; print most + 0 }' "$WORK/folded"
}
for function in call_sixty call_forty; do
	same "$function in tree" "$(count_of $function)" \
		"$(ours tree "$WORK/tree" | awk -v f=$function '$4 == "-" && $5 == f { print $3; exit }')"
	same "$function in flame.svg" "$(count_of $function) samples" \
		"$(ours flame.svg "$WORK/flame.svg" | sed -n "s/^<title>$function \([^,]*\),.*/\1/p" |
			sort -rn | head -n 1)"
done
for view in tree flame.svg; do
	check "the head of $view" grep -q "$delivered samples of 1 event in" "$WORK/$view"
done
if command -v xmllint >/dev/null; then
	xmllint --noout "$WORK/flame.svg" || fail "flame.svg is no XML"
fi
same "what flame.svg loads" "" \
	"$(grep -Eo '(href|src) *=[^>]*|url\(.*|@import.*' "$WORK/flame.svg" | head -n 3)"

# ---- several events -----------------------------------------------------------------------------

put kpctl clear
put kpctl "event cpu-clock:freq=999,task-clock:freq=499"
put kpctl start
"$SPLIT" 300 >/dev/null
put kpctl stop
cat "$MNT/views/folded" >"$WORK/folded" || fail "views/folded of two events can't be read"
for n in 1 2; do
	text=$(sed -n "s/^event\.$n\.text //p" "$MNT/kpstat")
	delivered=$(awk -v n=$n 'index($1, "event." n ".cpu.") == 1 && $1 ~ /\.delivered$/ { sum += $2 }
		END { print sum }' "$MNT/kpstat")
	same "all samples of event $n" "$delivered" "$(awk -v e="$text;" '
		index($0, e) == 1 { sum += $NF }
		END { print sum }' "$WORK/folded")"
done
serve_end
