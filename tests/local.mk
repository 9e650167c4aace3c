# tests: unit tests stand in tests/unit and are listed here one by one; scripts in tests/fs and tests/deny
# what tests of several folders use: captures made by hand, programs made by a compiler, those built here
check_LIBRARIES += libfixtures.a
libfixtures_a_SOURCES = tests/fixtures/built.c tests/fixtures/built.h tests/fixtures/gen.c tests/fixtures/gen.h \
	tests/fixtures/viewing.c tests/fixtures/viewing.h
include tests/race/local.mk
if HAVE_CMOCKA
AM_CFLAGS += $(CMOCKA_CFLAGS)
libfixtures_a_SOURCES += tests/fixtures/symfixture.c tests/fixtures/symfixture.h
include tests/unit/local.mk
include tests/deny/local.mk
include tests/fixtures/local.mk
include tests/fs/local.mk
include tests/hostile/local.mk
endif
EXTRA_DIST += tests/deny/test_perf_denied tests/deny/test_only_denied tests/deny/test_probes_denied
include tests/fuzz/local.mk
include tests/faults/local.mk
# what runs on other kernels, `./check vm`
EXTRA_DIST += tests/vm/trace.sh tests/vm/calls.sh tests/vm/cycles.sh tests/vm/event.sh tests/vm/functions.sh tests/vm/guest.sh \
	tests/vm/keep.sh tests/vm/lockdown.sh tests/vm/modules.sh tests/vm/preempt.sh tests/vm/probes.sh tests/vm/returns.sh tests/vm/returns_left.sh \
	tests/vm/samples.sh \
	tests/vm/run tests/vm/split.sh tests/vm/switches.sh tests/vm/tools.sh

# the command on files, and (where there is FUSE) on a mount
check_PROGRAMS += tests/fixtures/mkcapture tests/fixtures/shares tests/fixtures/victim
tests_fixtures_mkcapture_LDADD = libfixtures.a $(GLIB_LIBS)
tests_fixtures_shares_CFLAGS = $(WARN_CFLAGS) -fno-omit-frame-pointer
tests_fixtures_victim_CFLAGS = $(WARN_CFLAGS)
tests_fixtures_victim_LDFLAGS = -Wl,--build-id
TESTS += tests/fs/report.sh tests/fs/report_files.sh
EXTRA_DIST += tests/fs/report.sh tests/fs/report_files.sh

# views, by the tools that read them
check_PROGRAMS += tests/fixtures/mkstory
tests_fixtures_mkstory_LDADD = libfixtures.a $(GLIB_LIBS)
VIEW_TESTS = tests/fs/view_perfdata_files.sh tests/fs/view_perfdata.sh tests/fs/view_pprof.sh
TESTS += $(VIEW_TESTS)
EXTRA_DIST += tests/fs/view_lib.sh $(VIEW_TESTS)
