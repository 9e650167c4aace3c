# programs to try kprofs on; frame pointers, so that stacks are whole, and names for the report
noinst_PROGRAMS += %D%/wordcount
examples_wordcount_SOURCES = %D%/wordcount.c
examples_wordcount_CFLAGS = $(AM_CFLAGS) -O2 -g -fno-omit-frame-pointer

# the program of libkprof(3)
noinst_PROGRAMS += %D%/trace
examples_trace_SOURCES = %D%/trace.c
examples_trace_CFLAGS = $(AM_CFLAGS) -O2 -g -fno-omit-frame-pointer
examples_trace_LDADD = libkprof.la
