# kernel: events of the kernel: their rings, programs, switches and filters
noinst_LIBRARIES += libkernel.a
libkernel_a_SOURCES = \
	%D%/callargs.c \
	%D%/callargs.h \
	%D%/callflags.c \
	%D%/callflags.h \
	%D%/callflags_files.c \
	%D%/callflags_sockets.c \
	%D%/callflags_tasks.c \
	%D%/callnames.c \
	%D%/callnames.h \
	%D%/callnames.list.h \
	%D%/callnames_compat.c \
	%D%/calltext.c \
	%D%/calltext.h \
	%D%/record.h
