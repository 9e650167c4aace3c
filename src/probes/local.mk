# probes: the language of probes, and of filters: from a text to a checked syntax tree
noinst_LIBRARIES += libprobes.a
libprobes_a_SOURCES = \
	%D%/ast.c \
	%D%/ast.h \
	%D%/builtins.c \
	%D%/check.c \
	%D%/check.h \
	%D%/check_call.c \
	%D%/check_expr.c \
	%D%/check_names.c \
	%D%/check_state.h \
	%D%/check_types.c \
	%D%/check_units.c \
	%D%/check_vars.c \
	%D%/expr.c \
	%D%/expr.h \
	%D%/functions.c \
	%D%/kinds.c \
	%D%/lexer.c \
	%D%/lexer.h \
	%D%/lexer_directive.c \
	%D%/listing.c \
	%D%/listing.h \
	%D%/macros.c \
	%D%/parameters.c \
	%D%/parameters.h \
	%D%/parser.c \
	%D%/parser.h \
	%D%/parser_expr.c \
	%D%/parser_state.h \
	%D%/parser_type.c \
	%D%/print_format.c \
	%D%/print_format.h \
	%D%/probe_text.c \
	%D%/probe_text.h \
	%D%/refused.c \
	%D%/tables.h \
	%D%/targets.c \
	%D%/targets.h \
	%D%/targets_format.c
