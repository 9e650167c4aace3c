# public headers, installed as <kprof/...>
pkginclude_kprofdir = $(includedir)/kprof
pkginclude_kprof_HEADERS = \
	%D%/kprof/attach_abi.h \
	%D%/kprof/kprof.h \
	%D%/kprof/records.h \
	%D%/kprof/ring_abi.h \
	%D%/kprof/span.h \
	%D%/kprof/trace.h \
	%D%/kprof/typed.h
