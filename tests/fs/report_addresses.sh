#!/bin/bash
# SPDX-License-Identifier: MIT
# report_addresses: The addresses that kprof report prints are those that addr2line and objdump accept for
# the file, for programs in C (PIE or not), C++, Go and Rust whose segments have other addresses than file
# offsets, also stripped.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"
# shellcheck source=tests/fs/prof_lib.sh
. "${srcdir:-.}/tests/fs/prof_lib.sh"

for tool in gcc addr2line objcopy; do
	command -v $tool >/dev/null || { echo "$tool is missing"; exit 77; }
done

# each burns some 200 ms in a function whose name begins with burn
cat >"$WORK/burn.c" <<-'END'
	__attribute__((noinline)) unsigned long burn_c(unsigned long n)
	{
		unsigned long i, sum = 0;
		for (i = 0; i < n; i++)
			__asm__ volatile("" : "+r"(sum) : "r"(i));
		return sum;
	}
	int main(void)
	{
		int i;
		for (i = 0; i < 500; i++)
			burn_c(1000000);
		return 0;
	}
END
cat >"$WORK/burn.go" <<-'END'
	package main

	//go:noinline
	func burn_go(n int) int {
		s := 0
		for i := 0; i < n; i++ {
			s = s*31 + i
		}
		return s
	}

	func main() {
		s := 0
		for i := 0; i < 300; i++ {
			s += burn_go(1000000)
		}
		println(s & 1)
	}
END
cat >"$WORK/burn.rs" <<-'END'
	#[no_mangle]
	#[inline(never)]
	pub fn burn_rust(n: u64) -> u64 {
	    let mut s = 0u64;
	    for i in 0..n {
	        s = std::hint::black_box(s.wrapping_mul(31).wrapping_add(i));
	    }
	    s
	}

	fn main() {
	    let mut s = 0u64;
	    for _ in 0..300 {
	        s = s.wrapping_add(burn_rust(1000000));
	    }
	    println!("{}", s & 1);
	}
END

programs=
# build NAME COMMAND...: a program, where its compiler works here, and a stripped copy
build() {
	local name=$1
	shift
	if "$@" -o "$WORK/$name" >"$WORK/err" 2>&1 &&
		objcopy --strip-all "$WORK/$name" "$WORK/bare_$name"; then
		programs="$programs $name"
	else
		echo "no $name here: $(head -n 1 "$WORK/err")"
	fi
}

go_build() {
	GO111MODULE=off GOTOOLCHAIN=local GOFLAGS= go build "$@" burn.go
}

cd "$WORK" || exit 1 # compilers leave files
build c_pie gcc -O1 -g -pie -fPIE burn.c
build c_fixed gcc -O1 -g -no-pie -fno-pie burn.c
# code that lies far from where its offset would put it
build c_far gcc -O1 -g -no-pie -fno-pie -Wl,-Ttext-segment=0x10000000 -Wl,-z,separate-code burn.c
command -v go >/dev/null && build go go_build
# without -g: addr2line would tell what is inlined, by which no symbol is called
command -v rustc >/dev/null && build rust rustc -O burn.rs
cd "$OLDPWD" || exit 1
[ -n "$programs" ] || fail "no program could be built"

serve
need_machine
ctl 'event cpu-clock:freq=1000' clear start
for name in $programs; do
	timeout 120 "$WORK/$name" >/dev/null 2>&1 || fail "$name does not run"
	timeout 120 "$WORK/bare_$name" >/dev/null 2>&1 || fail "bare_$name does not run"
done
ctl stop
copy_to "$WORK/kpdata"
"$KPROF" report -n --addresses --by address,function,file "$WORK/kpdata" >"$WORK/report" || fail "kprof report"

# function_at FILE ADDRESS: the function that addr2line prints
function_at() {
	addr2line -f -C -e "$1" "$2" | head -n 1
}

for name in $programs; do
	# an inlined call has another name in addr2line than the symbol: only the function itself
	awk -v file="$WORK/$name" '$NF == file && $5 ~ /burn/ { print $4, $5 }' "$WORK/report" >"$WORK/rows"
	[ -s "$WORK/rows" ] || fail "$name has no samples: $(grep "$WORK/$name" "$WORK/report" | head -n 3)"
	echo "$name: $(wc -l <"$WORK/rows") addresses"
	while read -r address function; do
		same "$name at $address" "$(function_at "$WORK/$name" "$address")" "$function"
	done <"$WORK/rows"

	# the stripped one: FILE+0xADDRESS is an address of the one that is not
	awk -v file="$WORK/bare_$name" '$NF == file { print $2, $4, $5 }' "$WORK/report" |
		sort -rn >"$WORK/rows"
	read -r _ address function <"$WORK/rows"
	same "bare_$name" "bare_$name+$address" "$function"
	case $(function_at "$WORK/$name" "$address") in
	*burn*) ;;
	*) fail "bare_$name+$address is $(function_at "$WORK/$name" "$address") of $name" ;;
	esac
done

serve_end
