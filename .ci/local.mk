# the checks of the source, and the targets that run the tests under a tool
SOURCE_CHECKS = \
	%D%/check-circles \
	%D%/check-globals \
	%D%/check-includes \
	%D%/check-manpages \
	%D%/check-map \
	%D%/check-source \
	%D%/check-words

TESTS += $(SOURCE_CHECKS)
EXTRA_DIST += $(SOURCE_CHECKS) %D%/packages %D%/run

# only the unit tests
UNIT_TESTS = $(filter tests/unit/%,$(TESTS))
VALGRIND = valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite

check-unit:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(UNIT_TESTS)'

# test_profiler samples page faults: under valgrind there are more of them than the profiler can handle.
# test_profiler_life is the part of it that runs there. It does not know what bpf(2) writes into memory and what
# libbpf leaves out of the structs that it passes; nor fsopen(2), which opens a tracefs that is not mounted.
NOT_UNDER_VALGRIND = tests/unit/test_profiler tests/unit/test_profiler_commands tests/unit/test_bpf tests/unit/test_probes_gen \
	tests/unit/test_kernel_probes tests/unit/test_rawpoint tests/unit/test_times_code tests/unit/test_only \
	tests/unit/test_bpftrace_tools
check-valgrind:
	$(MAKE) $(AM_MAKEFLAGS) check \
		TESTS='$(filter-out $(NOT_UNDER_VALGRIND),$(UNIT_TESTS))' \
		LOG_COMPILER='$(LIBTOOL) --mode=execute $(VALGRIND)'

# Tests that fail under the thread sanitizer: test_perf counts its own instructions and page faults, of which
# the sanitizer adds more; kprof-symbols forbids system calls that the sanitizer makes.
TSAN_TESTS = $(filter-out tests/unit/test_perf tests/unit/test_sym_remote% tests/race/%.sh, \
	$(UNIT_TESTS) $(filter tests/race/%,$(TESTS)) tests/fuzz/fuzz_attach)

check-tsan:
	G_SLICE=always-malloc TSAN_OPTIONS="suppressions=$(abs_top_srcdir)/tests/tsan.supp $$TSAN_OPTIONS" \
		$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(TSAN_TESTS)'

EXTRA_DIST += tests/tsan.supp

.PHONY: check-unit check-valgrind check-tsan

# not in EXTRA_DIST: make would take its name for the target
dist-hook:
	cp -p $(top_srcdir)/check $(distdir)/check
