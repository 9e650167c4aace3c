# tests: unit tests stand in tests/unit and are listed here one by one; scripts in tests/fs and tests/deny
include tests/race/local.mk
if HAVE_CMOCKA
AM_CFLAGS += $(CMOCKA_CFLAGS)
include tests/unit/local.mk
include tests/deny/local.mk
include tests/fixtures/local.mk
include tests/fs/local.mk
include tests/hostile/local.mk
endif
EXTRA_DIST += tests/deny/test_perf_denied
include tests/fuzz/local.mk
include tests/faults/local.mk

# the command on files, and (where there is FUSE) on a mount
check_PROGRAMS += tests/fixtures/mkcapture tests/fixtures/shares tests/fixtures/victim
tests_fixtures_mkcapture_SOURCES = tests/fixtures/mkcapture.c tests/fixtures/gen.c tests/fixtures/gen.h
tests_fixtures_mkcapture_LDADD = $(GLIB_LIBS)
tests_fixtures_shares_CFLAGS = $(WARN_CFLAGS) -fno-omit-frame-pointer
tests_fixtures_victim_CFLAGS = $(WARN_CFLAGS)
tests_fixtures_victim_LDFLAGS = -Wl,--build-id
TESTS += tests/fs/report.sh tests/fs/report_files.sh
EXTRA_DIST += tests/fs/report.sh tests/fs/report_files.sh

# views, by the tools that read them
check_PROGRAMS += tests/fixtures/mkstory
tests_fixtures_mkstory_SOURCES = tests/fixtures/mkstory.c tests/fixtures/gen.c tests/fixtures/gen.h
tests_fixtures_mkstory_LDADD = $(GLIB_LIBS)
VIEW_TESTS = tests/fs/view_perfdata_files.sh tests/fs/view_perfdata.sh tests/fs/view_pprof.sh
TESTS += $(VIEW_TESTS)
EXTRA_DIST += tests/fs/view_lib.sh $(VIEW_TESTS)
