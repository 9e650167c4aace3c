# probes: the language of probes, and of filters: from a text to a checked syntax tree
noinst_LIBRARIES += libprobes.a
libprobes_a_SOURCES = \
	%D%/ast.c \
	%D%/ast.h \
	%D%/check.h \
	%D%/expr.c \
	%D%/expr.h \
	%D%/expr_lexer.c \
	%D%/expr_lexer.h \
	%D%/parser.h \
	%D%/tables.h \
	%D%/targets.h
