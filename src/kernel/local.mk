# kernel: events of the kernel: their rings, programs, switches and filters
noinst_LIBRARIES += libkernel.a
libkernel_a_SOURCES = \
	%D%/callnames.c \
	%D%/callnames.h \
	%D%/callnames.list.h \
	%D%/record.h
