# sys: one thin wrapper for each kernel interface; one file a line, sorted
noinst_LIBRARIES += libsys.a
libsys_a_SOURCES = \
	%D%/buildid.c \
	%D%/buildid.h \
	%D%/child.c \
	%D%/child.h \
	%D%/clock.c \
	%D%/clock.h \
	%D%/confine.c \
	%D%/confine.h \
	%D%/cpu.c \
	%D%/cpu.h \
	%D%/host.c \
	%D%/host.h \
	%D%/limits.c \
	%D%/limits.h \
	%D%/lines.c \
	%D%/lines.h \
	%D%/mounts.c \
	%D%/mounts.h \
	%D%/perf.c \
	%D%/perf.h \
	%D%/perf_count.c \
	%D%/perf_count.h \
	%D%/perf_regs.c \
	%D%/perf_ring.c \
	%D%/pfm.c \
	%D%/pfm.h \
	%D%/pfm_list.c \
	%D%/pfm_lock.h \
	%D%/proc.c \
	%D%/proc.h \
	%D%/proc_kernel.c \
	%D%/proc_maps.c \
	%D%/proc_maps.h \
	%D%/proc_wire.c \
	%D%/proc_wire.h \
	%D%/procfile.c \
	%D%/procfile.h \
	%D%/procstat.c \
	%D%/procstat.h \
	%D%/terminal.c \
	%D%/terminal.h \
	%D%/tracefs.c \
	%D%/tracefs.h \
	%D%/uevent.c \
	%D%/uevent.h
