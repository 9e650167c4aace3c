# probes: the language of filters, from which that of probes will grow
noinst_LIBRARIES += libprobes.a
libprobes_a_SOURCES = \
	%D%/expr.c \
	%D%/expr.h \
	%D%/expr_lexer.c \
	%D%/expr_lexer.h
