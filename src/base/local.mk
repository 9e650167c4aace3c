# base: what every other room uses; depends on nothing of ours
noinst_LIBRARIES += libbase.a
libbase_a_SOURCES = \
	%D%/atomic.h \
	%D%/bell.c %D%/bell.h \
	%D%/bisect.h \
	%D%/cancel.h \
	%D%/err.c %D%/err.h \
	%D%/fdio.c %D%/fdio.h \
	%D%/growing.c %D%/growing.h \
	%D%/interned.c %D%/interned.h \
	%D%/log.c %D%/log.h \
	%D%/nearest.c %D%/nearest.h \
	%D%/openmetrics.c %D%/openmetrics.h \
	%D%/parallel.c %D%/parallel.h \
	%D%/ratelimit.c %D%/ratelimit.h \
	%D%/reserve.c %D%/reserve.h \
	%D%/stats.c %D%/stats.h \
	%D%/stdfds.c %D%/stdfds.h \
	%D%/strhash.c %D%/strhash.h \
	%D%/switch_word.c %D%/switch_word.h \
	%D%/text.c %D%/text.h \
	%D%/trim.c %D%/trim.h \
	%D%/units.c %D%/units.h
