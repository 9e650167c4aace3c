# sys: one thin wrapper for each kernel interface; one file a line, sorted
noinst_LIBRARIES += libsys.a
libsys_a_SOURCES = \
	%D%/become.c %D%/become.h \
	%D%/buildid.c \
	%D%/buildid.h \
	%D%/cgroup.c \
	%D%/cgroup.h \
	%D%/child.c \
	%D%/child.h \
	%D%/clock.c \
	%D%/clock.h \
	%D%/confine.c \
	%D%/confine.h \
	%D%/cpu.c \
	%D%/cpu.h \
	%D%/cycles.c %D%/cycles.h \
	%D%/fdpass.c \
	%D%/fdpass.h \
	%D%/held.c %D%/held.h \
	%D%/host.c \
	%D%/host.h \
	%D%/kallsyms.c \
	%D%/kallsyms.h \
	%D%/limits.c \
	%D%/limits.h \
	%D%/lines.c \
	%D%/lines.h \
	%D%/lockdown.c %D%/lockdown.h \
	%D%/memfile.c \
	%D%/memfile.h \
	%D%/mounts.c \
	%D%/mounts.h \
	%D%/perf.c \
	%D%/perf_as.c %D%/perf_as.h \
	%D%/perf.h \
	%D%/perf_count.c \
	%D%/perf_count.h \
	%D%/perf_regs.c \
	%D%/perf_ring.c \
	%D%/pfm.c \
	%D%/pfm.h \
	%D%/pfm_library.c \
	%D%/pfm_library.h \
	%D%/pfm_list.c \
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
	%D%/recv_fds.c \
	%D%/recv_fds.h \
	%D%/socket_drain.c \
	%D%/socket_drain.h \
	%D%/terminal.c \
	%D%/terminal.h \
	%D%/tracefs.c \
	%D%/tracefs.h \
	%D%/tracing.c \
	%D%/tracing.h \
	%D%/user_events.c \
	%D%/user_events.h \
	%D%/users.c \
	%D%/users.h \
	%D%/uevent.c \
	%D%/uevent.h
