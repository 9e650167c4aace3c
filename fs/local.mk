# fs: the server. All but main.c is a library, so that the tests can link it.
sbin_PROGRAMS += kprofs
noinst_LIBRARIES += libfs.a
libfs_a_CPPFLAGS = $(AM_CPPFLAGS)
libfs_a_CFLAGS = $(AM_CFLAGS) $(FUSE_CFLAGS)
libfs_a_SOURCES = \
	%D%/kpctl_thread.c \
	%D%/kpctl_thread.h \
	%D%/content.c \
	%D%/content.h \
	%D%/cpus.c \
	%D%/cpus.h \
	%D%/ctl_words.c \
	%D%/ctl_words.h \
	%D%/dirtab.c \
	%D%/dirtab.h \
	%D%/entry_reply.c \
	%D%/entry_reply.h \
	%D%/file.h \
	%D%/file_sessions.c \
	%D%/file_mpstat.c \
	%D%/file_cpudir.c \
	%D%/file_ctf.c \
	%D%/file_events.c \
	%D%/file_kernel.c %D%/file_load.c \
	%D%/file_help.c \
	%D%/probe_events.c \
	%D%/probe_events.h \
	%D%/probe_names.c \
	%D%/probe_names.h \
	%D%/file_probes.c \
	%D%/file_prof.c \
	%D%/file_stat.c \
	%D%/file_trace.c \
	%D%/file_part.c \
	%D%/file_view.c \
	%D%/filetext.c \
	%D%/filetext.h \
	%D%/fuse_ops.c \
	%D%/fuse_ops.h \
	%D%/fuse_req.h \
	%D%/fuse_tree.c \
	%D%/fuse_tree.h \
	%D%/kperr.c \
	%D%/kperr.h \
	%D%/lazy.c \
	%D%/lazy.h \
	%D%/libfuse.h \
	%D%/metrics.c \
	%D%/metrics.h \
	%D%/node.c \
	%D%/node.h \
	%D%/openfile.c \
	%D%/openfile.h \
	%D%/parked.c \
	%D%/parked.h \
	%D%/pipes.c \
	%D%/pipes.h \
	%D%/open_reply.c \
	%D%/open_reply.h \
	%D%/options.c \
	%D%/options.h \
	%D%/options_complete.c \
	%D%/quota.c \
	%D%/quota.h \
	%D%/report.c \
	%D%/restore.c \
	%D%/report.h \
	%D%/restore.h \
	%D%/reply.c \
	%D%/reply.h \
	%D%/server.h \
	%D%/server_run.c \
	%D%/server_run.h \
	%D%/session.c \
	%D%/session.h \
	%D%/sessions.c \
	%D%/sessions.h \
	%D%/settings_file.c \
	%D%/settings_file.h \
	%D%/streams.c \
	%D%/streams.h \
	%D%/switches.c \
	%D%/switches.h \
	%D%/tree.c \
	%D%/tree.h \
	%D%/turns.c \
	%D%/turns.h \
	%D%/slow_ops.c \
	%D%/snapshots.c \
	%D%/snapshots.h \
	%D%/slow_ops.h

kprofs_SOURCES = %D%/main.c
kprofs_LDADD = libfs.a libviews.a libprof.a libtrace.a libkernel.a libprobes.a libproducers.a libring.a libacct.a libkpbpf.a libformats.a libcapture.a libsymbolizer.a libsys.a libbase.a \
	$(FUSE_LIBS) $(GLIB_LIBS) $(DL_LIBS) -lpthread $(Z_LIBS) $(BPF_LIBS)
