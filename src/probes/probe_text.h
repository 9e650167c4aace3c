/* SPDX-License-Identifier: MIT */
/* The name of a probe: "kprobe:tcp_sendmsg" is divided into its parts, by the table of kinds. */
#ifndef KPROFS_PROBES_PROBE_TEXT_H
#define KPROFS_PROBES_PROBE_TEXT_H

#include "probes/ast.h"
#include "probes/lexer.h"

/* `token` is from lexer_next_probe(). Errors as parser_parse(). */
int probe_text_parse(struct ast *ast, const struct lexer *lexer, const struct token *token,
	struct ast_probe **probe);

#endif
