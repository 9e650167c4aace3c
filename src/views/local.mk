# views: the process in which views are made, and the requests to it
noinst_LIBRARIES += libviews.a
libviews_a_SOURCES = \
	%D%/viewmaker.c \
	%D%/viewmarks.c %D%/viewmarks.h \
	%D%/viewmodel.c %D%/viewmodel.h \
	%D%/viewproc.c %D%/viewproc.h \
	%D%/viewspans.c %D%/viewspans.h \
	%D%/viewstacks.c %D%/viewstacks.h
