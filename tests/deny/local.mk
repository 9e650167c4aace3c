# what this folder adds to the one Makefile; included where cmocka and libseccomp are there
check_PROGRAMS += %D%/deny
%C%_deny_CPPFLAGS = $(AM_CPPFLAGS) $(SECCOMP_CFLAGS)
%C%_deny_LDADD = $(SECCOMP_LIBS)
TESTS += %D%/test_perf_denied %D%/test_only_denied %D%/test_probes_denied
