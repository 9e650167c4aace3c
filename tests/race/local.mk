# the ring and libkprof under races: see the head of each file
RACE_CPPFLAGS = $(AM_CPPFLAGS) -DRING_TEST_POINTS
race_peer = %D%/peer.c %D%/peer.h %D%/fixture.h

check_PROGRAMS += %D%/interleave
TESTS += %D%/interleave %D%/man_example.sh
EXTRA_DIST += %D%/man_example.sh
%C%_interleave_SOURCES = %D%/interleave.c %D%/fixture.h
%C%_interleave_CPPFLAGS = $(RACE_CPPFLAGS)
%C%_interleave_LDADD = libring_testing.a libsys.a

# programs that are traced; frame pointers for kprof_backtrace
check_PROGRAMS += %D%/roles
%C%_roles_SOURCES = %D%/roles.c
%C%_roles_CFLAGS = $(AM_CFLAGS) -fno-omit-frame-pointer -fno-optimize-sibling-calls
%C%_roles_LDADD = libkprof.la -ldl -lpthread

# the same with libkprof.a
check_PROGRAMS += %D%/roles_static
%C%_roles_static_SOURCES = %D%/roles.c
%C%_roles_static_CFLAGS = $(%C%_roles_CFLAGS)
%C%_roles_static_LDFLAGS = $(AM_LDFLAGS) -static
%C%_roles_static_LDADD = libkprof.la -ldl -lpthread

# the same with test points
check_PROGRAMS += %D%/roles_testing
%C%_roles_testing_SOURCES = %D%/roles.c
%C%_roles_testing_CPPFLAGS = $(RACE_CPPFLAGS)
%C%_roles_testing_CFLAGS = $(%C%_roles_CFLAGS)
%C%_roles_testing_LDADD = libkprof_testing.a -ldl -lpthread

# a library that comes and goes
check_LTLIBRARIES = %D%/plugin.la
%C%_plugin_la_SOURCES = %D%/plugin.cc
%C%_plugin_la_CXXFLAGS = -std=c++11 -Wall -Wextra -fvisibility=hidden $(SAN_FLAGS)
%C%_plugin_la_LDFLAGS = -module -avoid-version -rpath $(abs_builddir)/%D%
%C%_plugin_la_LIBADD = libkprof.la

if HAVE_CMOCKA
race_tests = %D%/attach %D%/threads %D%/events %D%/hosts %D%/trust
check_PROGRAMS += $(race_tests)
TESTS += $(race_tests)
race_rig = %D%/rig.c %D%/rig.h $(race_peer)
%C%_attach_SOURCES = %D%/attach.c $(race_rig)
%C%_attach_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
%C%_attach_LDADD = libring.a libsys.a $(CMOCKA_LIBS)
%C%_threads_SOURCES = %D%/threads.c $(race_rig)
%C%_threads_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
%C%_threads_LDADD = libring.a libsys.a $(CMOCKA_LIBS)
%C%_events_SOURCES = %D%/events.c $(race_rig)
%C%_events_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
%C%_events_LDADD = libring.a libsys.a $(CMOCKA_LIBS)
%C%_hosts_SOURCES = %D%/hosts.c $(race_rig)
%C%_hosts_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
%C%_hosts_LDADD = libring.a libsys.a $(CMOCKA_LIBS)
%C%_trust_SOURCES = %D%/trust.c $(race_rig)
%C%_trust_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
%C%_trust_LDADD = libring.a libsys.a $(CMOCKA_LIBS)
endif

# the protocols, for a model checker
TESTS += %D%/model.sh
EXTRA_DIST += %D%/model.sh %D%/chunks.pml %D%/commit.pml

# the sums, of many threads that start, end and are killed
check_PROGRAMS += %D%/counts
TESTS += %D%/counts
%C%_counts_SOURCES = %D%/counts.c %D%/fixture.h
%C%_counts_CPPFLAGS = $(RACE_CPPFLAGS)
%C%_counts_LDADD = libring_testing.a libsys.a -lpthread
