# calls that fail: each allocation and each call of the kernel of a session in turn; `./check faults`
check_LTLIBRARIES += %D%/libfaults.la
%C%_libfaults_la_SOURCES = %D%/faults.c %D%/faults.h
%C%_libfaults_la_CFLAGS = -std=gnu11 $(WARN_CFLAGS) $(GLIB_CFLAGS)
%C%_libfaults_la_LDFLAGS = -module -avoid-version -shared -rpath $(abs_builddir)/%D%
%C%_libfaults_la_LIBADD = -ldl
EXTRA_DIST += %D%/faults.py
