#!/bin/sh
# SPDX-License-Identifier: MIT
# model: the ring's protocols, as tests/race/*.pml draw them, in every interleaving, by spin. Each
# model must hold, and must fail when a step that it is about is taken out: else it proves nothing.
set -eu
export LC_ALL=C
src=$(cd "${srcdir:-$(dirname "$0")/../..}" && pwd)

command -v spin >/dev/null || { echo "spin is missing: the models are not checked"; exit 77; }
cc=$(command -v gcc || command -v cc) || { echo "spin needs a C compiler"; exit 77; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# check MODEL OPTIONS [STEP]: the result of spin for the model, without the step
check() {
	spin ${3:+-D"$3"} -a "$src/tests/race/$1.pml"
	# shellcheck disable=SC2086 # words
	"$cc" -w $2 -DSAFETY -DCOLLAPSE -DMEMLIM=1000 -o pan pan.c
	./pan -m100000 >said
	! grep -q 'max search depth too small\|out of memory' said || { cat said; exit 1; }
	sed -n 's/.* errors: \([0-9]*\)$/\1/p' said
}

# holds MODEL STEP...
holds() {
	model=$1
	shift
	errors=$(check "$model" -O2)
	[ "$errors" = 0 ] || { cat said; echo "$model does not hold"; exit 1; }
	echo "$model: $(sed -n 's/^ *\([0-9]*\) states, stored.*/\1/p' said) states, no error"
	for step; do
		# the last process first: that finds soon what is broken, and the compiler takes longest
		errors=$(check "$model" "-O0 -DP_REVERSE" "$step")
		[ "${errors:-0}" != 0 ] || { cat said; echo "$model holds with $step, too"; exit 1; }
		echo "$model with $step: $(sed -n 's/^pan:1: \(.*\) (at depth.*/\1/p' said)"
	done
}

holds chunks TAKE_FIRST LOOK_ONCE GIVEN_EARLY NO_EXCHANGE
holds commit NO_A NO_B NO_D NO_E NO_LEAVE NO_a NO_b NO_d ONE_COPY NO_TICKET
