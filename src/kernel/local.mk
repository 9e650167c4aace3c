# kernel: events of the kernel: programs, switches and filters
noinst_LIBRARIES += libkernel.a
libkernel_a_SOURCES = \
	%D%/begun.c \
	%D%/begun.h \
	%D%/begun_code.c \
	%D%/begun_code.h \
	%D%/callargs.c \
	%D%/callargs.h \
	%D%/callflags.c \
	%D%/callflags.h \
	%D%/callflags_files.c \
	%D%/callflags_sockets.c \
	%D%/callflags_tasks.c \
	%D%/callmachine.h \
	%D%/callnames.c \
	%D%/callnames.h \
	%D%/callnames.list.h \
	%D%/callnames_compat.c \
	%D%/callprogram.c \
	%D%/callprogram.h \
	%D%/calltext.c \
	%D%/calltext.h \
	%D%/describe.c \
	%D%/describe.h \
	%D%/filter.c \
	%D%/filter.h \
	%D%/function.c \
	%D%/function.h \
	%D%/functionprogram.c \
	%D%/functionprogram.h \
	%D%/kernel.c \
	%D%/kernel_begun.c \
	%D%/kernel.h \
	%D%/kernel_functions.c \
	%D%/kernel_machine.c \
	%D%/kernel_meanings.c \
	%D%/kernel_pids.c \
	%D%/kernel_points.c \
	%D%/kernel_state.h \
	%D%/pidprogram.c \
	%D%/pidprogram.h \
	%D%/point.c \
	%D%/point.h
