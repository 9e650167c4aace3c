# the checks of the source itself, and the ways to run the tests under a tool
SOURCE_CHECKS = \
	%D%/check-circles \
	%D%/check-globals \
	%D%/check-includes \
	%D%/check-manpages \
	%D%/check-source

TESTS += $(SOURCE_CHECKS)
EXTRA_DIST += $(SOURCE_CHECKS) %D%/packages %D%/run dist/kprofs.service \
	dist/debian/changelog dist/debian/control dist/debian/copyright dist/debian/rules \
	dist/debian/source/format

# only the tests that are programs of one module each
UNIT_TESTS = $(filter tests/unit/%,$(TESTS))
VALGRIND = valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite

check-unit:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(UNIT_TESTS)'

# test_profiler samples page faults, of which valgrind and the profiler in it make more than they can take;
# test_profiler_life is what can be tried of it there
check-valgrind:
	$(MAKE) $(AM_MAKEFLAGS) check \
		TESTS='$(filter-out tests/unit/test_profiler tests/unit/test_profiler_commands,$(UNIT_TESTS))' \
		LOG_COMPILER='$(LIBTOOL) --mode=execute $(VALGRIND)'

# What the thread sanitizer can't be told: test_perf counts its own instructions and page faults, of which
# there are more; kprof-symbols gives up calls that the sanitizer makes.
TSAN_TESTS = $(filter-out tests/unit/test_perf tests/unit/test_sym_remote% tests/race/%.sh, \
	$(UNIT_TESTS) $(filter tests/race/%,$(TESTS)) tests/fuzz/fuzz_attach)

check-tsan:
	G_SLICE=always-malloc TSAN_OPTIONS="suppressions=$(abs_top_srcdir)/tests/tsan.supp $$TSAN_OPTIONS" \
		$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(TSAN_TESTS)'

EXTRA_DIST += tests/tsan.supp

.PHONY: check-unit check-valgrind check-tsan

# not in EXTRA_DIST, where make would take its name for the target
dist-hook:
	cp -p $(top_srcdir)/check $(distdir)/check
