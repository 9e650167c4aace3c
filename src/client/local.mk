# client: libkprof, what programs link against
client_sources = \
	%D%/attach.c \
	%D%/client.c \
	%D%/client.h \
	%D%/event.c \
	%D%/fd.c \
	%D%/helper.c \
	%D%/module.c \
	%D%/pool.c \
	%D%/print.c \
	%D%/probe.c \
	%D%/registry.c \
	%D%/stack.c \
	%D%/text.h \
	%D%/typed.c \
	%D%/watch.c

lib_LTLIBRARIES += libkprof.la
libkprof_la_SOURCES = $(client_sources) $(ring_common) $(ring_write)
libkprof_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden
# nodelete: the helper thread may run the library's code when the program calls dlclose
libkprof_la_LDFLAGS = $(AM_LDFLAGS) -version-info 1:0:1 -Wl,-z,nodelete \
	-Wl,--version-script=$(srcdir)/%D%/libkprof.map
EXTRA_libkprof_la_DEPENDENCIES = %D%/libkprof.map
EXTRA_DIST += %D%/libkprof.map

pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA = dist/kprof.pc

# Programs that are linked with an installed libkprof find it in the cache of the dynamic linker.
install-exec-hook:
	@if test -z "$(DESTDIR)" && test "`id -u`" = 0; then \
		PATH="$$PATH:/sbin:/usr/sbin"; \
		if command -v ldconfig >/dev/null; then ldconfig; fi; \
	fi

# for tests: the same with the points at which a writer can be stopped
check_LIBRARIES += libkprof_testing.a
libkprof_testing_a_SOURCES = $(client_sources) $(ring_common) $(ring_write) $(ring_read)
libkprof_testing_a_CPPFLAGS = $(AM_CPPFLAGS) -DRING_TEST_POINTS
