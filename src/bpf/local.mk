# bpf: the one room that talks to bpf(2): instructions, types of the kernel, maps, programs, rings of records
noinst_LIBRARIES += libkpbpf.a
libkpbpf_a_SOURCES = \
	%D%/code.c \
	%D%/code.h \
	%D%/emit.c \
	%D%/emit.h \
	%D%/emit_stack.c \
	%D%/file_links.c \
	%D%/file_links.h \
	%D%/file_links_process.c \
	%D%/file_links_wire.h \
	%D%/function_way.c \
	%D%/function_way.h \
	%D%/machine.c \
	%D%/machine.h \
	%D%/map.c \
	%D%/map.h \
	%D%/perf_link.c \
	%D%/perf_link.h \
	%D%/pins.c \
	%D%/pins.h \
	%D%/program.c \
	%D%/program.h \
	%D%/queue.c \
	%D%/queue.h \
	%D%/record.h \
	%D%/rings.c \
	%D%/rings.h \
	%D%/samples.c \
	%D%/samples.h \
	%D%/stub.c \
	%D%/stub.h \
	%D%/types.c \
	%D%/types.h
libkpbpf_a_CPPFLAGS = $(AM_CPPFLAGS) $(BPF_CFLAGS)
