# probes: the language of probes, and of filters: from a text to a checked syntax tree
noinst_LIBRARIES += libprobes.a
libprobes_a_SOURCES = \
	%D%/ast.c \
	%D%/ast.h \
	%D%/builtins.c \
	%D%/check.h \
	%D%/expr.c \
	%D%/expr.h \
	%D%/expr_lexer.c \
	%D%/expr_lexer.h \
	%D%/functions.c \
	%D%/kinds.c \
	%D%/lexer.c \
	%D%/lexer.h \
	%D%/lexer_directive.c \
	%D%/macros.c \
	%D%/parser.c \
	%D%/parser.h \
	%D%/parser_expr.c \
	%D%/parser_state.h \
	%D%/parser_type.c \
	%D%/probe_text.c \
	%D%/probe_text.h \
	%D%/refused.c \
	%D%/tables.h \
	%D%/targets.h
