# what a user without rights, or a program that he runs, does to the server and to other users: each
# script starts a server and an attacker, and measures what others notice (the delay of an attach, of
# a switch, of a command; the end of the server)
HOSTILE_TESTS = \
	%D%/descriptors.sh \
	%D%/commands.sh \
	%D%/held_mappings.sh \
	%D%/held_probes.sh \
	%D%/opens.sh \
	%D%/threads.sh

# a file system whose server does not answer
check_PROGRAMS += %D%/silent_fuse
tests_hostile_silent_fuse_SOURCES = %D%/silent_fuse.c
tests_hostile_silent_fuse_CFLAGS = $(WARN_CFLAGS) $(FUSE_CFLAGS)
tests_hostile_silent_fuse_LDADD = $(FUSE_LIBS)

# processes that hold the lock of their mappings
check_PROGRAMS += %D%/hold_mmap
tests_hostile_hold_mmap_SOURCES = %D%/hold_mmap.c
tests_hostile_hold_mmap_CFLAGS = $(WARN_CFLAGS)

# a program whose events make long lines
HOSTILE_TESTS += %D%/long_text.sh
check_PROGRAMS += %D%/long_text
tests_hostile_long_text_SOURCES = %D%/long_text.c
tests_hostile_long_text_LDADD = libkprof.la -lpthread
tests_hostile_long_text_LDFLAGS = -static

# programs that attach without libkprof
HOSTILE_TESTS += %D%/endless_events.sh %D%/foreign_descriptor.sh %D%/unreceived_descriptor.sh
check_PROGRAMS += %D%/attach_time %D%/send_descriptor %D%/send_events %D%/switch_time
tests_hostile_attach_time_SOURCES = %D%/attach_time.c %D%/attack.h tests/race/fixture.h
tests_hostile_attach_time_LDADD = libring_testing.a libsys.a
tests_hostile_send_events_SOURCES = %D%/send_events.c %D%/attack.h tests/race/fixture.h
tests_hostile_send_events_LDADD = libring_testing.a libsys.a
tests_hostile_switch_time_SOURCES = %D%/switch_time.c %D%/attack.h tests/race/fixture.h
tests_hostile_switch_time_LDADD = libring_testing.a libsys.a
tests_hostile_send_descriptor_SOURCES = %D%/send_descriptor.c %D%/attack.h

TESTS += $(HOSTILE_TESTS)
EXTRA_DIST += %D%/commands.py %D%/lib.sh %D%/opener.py %D%/viewer.py $(HOSTILE_TESTS)
