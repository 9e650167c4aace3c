# ring: the trace ring. The reader's half for the server and the tests; the writer's goes into libkprof
ring_common = %D%/args.c %D%/args.h %D%/layout.c %D%/layout.h %D%/shared.h %D%/testpoint.h
ring_write = %D%/write.c %D%/write.h
ring_read = %D%/read.c %D%/read.h

noinst_LIBRARIES += libring.a
libring_a_SOURCES = $(ring_common) $(ring_read)
# flags of its own, so that its objects are not libkprof's
libring_a_CFLAGS = $(AM_CFLAGS)

# for tests: both halves, with the points at which they can be stopped
check_LIBRARIES += libring_testing.a
libring_testing_a_SOURCES = $(ring_common) $(ring_write) $(ring_read)
libring_testing_a_CPPFLAGS = $(AM_CPPFLAGS) -DRING_TEST_POINTS
