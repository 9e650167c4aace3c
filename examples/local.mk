# programs to profile; compiled with frame pointers for complete stacks, and with symbols for the report
noinst_PROGRAMS += %D%/wordcount
examples_wordcount_SOURCES = %D%/wordcount.c
examples_wordcount_CFLAGS = $(AM_CFLAGS) -O2 -g -fno-omit-frame-pointer

# the program of libkprof(3)
noinst_PROGRAMS += %D%/trace
examples_trace_SOURCES = %D%/trace.c
examples_trace_CFLAGS = $(AM_CFLAGS) -O2 -g -fno-omit-frame-pointer
examples_trace_LDADD = libkprof.la

exampledir = $(docdir)/examples
dist_example_DATA = %D%/Containerfile %D%/kubernetes.yaml %D%/nginx.conf %D%/lookup.c %D%/trace.c \
	%D%/kprof.py %D%/events.go %D%/events.rs %D%/kprofile.bt %D%/uprofile.bt %D%/runqlat.bt
