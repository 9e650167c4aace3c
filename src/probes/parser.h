/* SPDX-License-Identifier: MIT */
/* The parser: a text of the language becomes a syntax tree. Thread-safe; it reads the text only. */
#ifndef KPROFS_PROBES_PARSER_H
#define KPROFS_PROBES_PARSER_H

#include "probes/ast.h"

/*
 * Parses a program. Returns 0, or, with the sentence, line, column and a caret in `err`:
 * -EAGAIN   the text ends too early: more of it may make it whole. Also for an empty one
 * -EINVAL   it is wrong, whatever may follow
 * -EOPNOTSUPP  bpftrace's language has it, this one has not
 * -E2BIG    a bound of ast.h
 * -ENOMEM
 */
int parser_parse(const char *text, size_t bytes, struct ast **ast, struct err *err);

/*
 * Parses the filter of an event (expr.h): one expression of names, numbers, strings and operators of C. The
 * same errors, in one line, without -EAGAIN.
 */
int parser_parse_filter(const char *text, struct ast **ast, struct ast_expr **expr, struct err *err);

#endif
