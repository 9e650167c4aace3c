/* SPDX-License-Identifier: MIT */
/*
 * The third stage: arguments of static probes of programs (USDT). The compiler has written where each is, as
 * an operand of its assembler: "8@%rbx -4@$5 4@-12(%rbp)", on arm64 "8@x0 -4@5 4@[sp, 12]". The texts are of
 * files that any user may have written: what is not understood is refused.
 */
#include "probes/gen_state.h"

#include <ctype.h>
#include <errno.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "probes/tables.h"

#define OPERAND_MAX 64u

/* Where an argument is: a constant, a register, or memory at registers and an offset. */
struct operand {
	uint32_t bytes;
	bool is_signed, is_memory, is_constant;
	int64_t number; /* the constant, or the offset */
	int base, index; /* offsets of registers in struct pt_regs; -1: none */
	int32_t scale;
};

/* ---- registers --------------------------------------------------------------------------------- */

#if defined(__x86_64__)
/* The names of all widths of a register, with a blank before and behind each. */
static const struct {
	const char *names;
	int offset;
} registers[] = {
	{ " rax eax ax al ", 80 }, { " rbx ebx bx bl ", 40 }, { " rcx ecx cx cl ", 88 },
	{ " rdx edx dx dl ", 96 }, { " rsi esi si sil ", 104 }, { " rdi edi di dil ", 112 },
	{ " rbp ebp bp bpl ", 32 }, { " rsp esp sp spl ", 152 }, { " r8 r8d r8w r8b ", 72 },
	{ " r9 r9d r9w r9b ", 64 }, { " r10 r10d r10w r10b ", 56 }, { " r11 r11d r11w r11b ", 48 },
	{ " r12 r12d r12w r12b ", 24 }, { " r13 r13d r13w r13b ", 16 }, { " r14 r14d r14w r14b ", 8 },
	{ " r15 r15d r15w r15b ", 0 },
};

static int find_register(const char *name, size_t length)
{
	char word[8];

	if (!length || length + 3 > sizeof(word))
		return -1;
	word[0] = ' ';
	memcpy(word + 1, name, length);
	word[length + 1] = ' ';
	word[length + 2] = '\0';
	for (size_t i = 0; i < G_N_ELEMENTS(registers); i++)
		if (strstr(registers[i].names, word))
			return registers[i].offset;
	return -1;
}
#elif defined(__aarch64__)
static int find_register(const char *name, size_t length)
{
	char word[4], *end;
	long number;

	if (length == 2 && memcmp(name, "sp", 2) == 0)
		return 248;
	if (length < 2 || length >= sizeof(word) || !strchr("xw", name[0]) ||
		!isdigit((unsigned char)name[1]))
		return -1;
	memcpy(word, name + 1, length - 1);
	word[length - 1] = '\0';
	number = strtol(word, &end, 10);
	return *end || number > 30 ? -1 : (int)number * 8;
}
#else
static int find_register(const char *name, size_t length)
{
	(void)name;
	(void)length;
	return -1;
}
#endif

/* ---- texts ------------------------------------------------------------------------------------- */

/* The nth operand of all, which have blanks between them: not those in brackets. */
static bool find_operand(const char *all, uint32_t number, char operand[OPERAND_MAX])
{
	const char *at = all, *begin;
	int depth;

	for (uint32_t i = 0;; i++) {
		while (*at == ' ')
			at++;
		begin = at;
		for (depth = 0; *at && (*at != ' ' || depth); at++)
			depth += *at == '[' ? 1 : *at == ']' && depth ? -1 : 0;
		if (at == begin)
			return false;
		if (i == number)
			break;
	}
	if ((size_t)(at - begin) >= OPERAND_MAX)
		return false;
	memcpy(operand, begin, (size_t)(at - begin));
	operand[at - begin] = '\0';
	return true;
}

/* "-4@": the size, and whether it is signed. Returns what follows, or NULL. */
static const char *take_size(const char *text, struct operand *operand)
{
	char *end;
	long size = strtol(text, &end, 10);

	if (size < -8 || size > 8)
		return NULL;
	operand->is_signed = size < 0;
	operand->bytes = (uint32_t)labs(size);
	if (end == text || *end != '@' || (operand->bytes != 1 && operand->bytes != 2 &&
		operand->bytes != 4 && operand->bytes != 8))
		return NULL;
	return end + 1;
}

static bool take_number(const char **text, int64_t *number)
{
	char *end;

	errno = 0;
	*number = strtoll(*text, &end, 0);
	if (end == *text || errno)
		return false;
	*text = end;
	return true;
}

static bool take_register(const char **text, int *reg)
{
	const char *begin = *text + (**text == '%'), *end = begin;

	while (isalnum((unsigned char)*end))
		end++;
	*reg = find_register(begin, (size_t)(end - begin));
	*text = end;
	return *reg >= 0;
}

/* x86: %REG, $NUMBER, OFFSET(%BASE,%INDEX,SCALE). Not of symbols: SYMBOL(%rip). */
static bool take_x86(const char *text, struct operand *operand)
{
	int64_t scale = 1;

	if (*text == '$') {
		operand->is_constant = true;
		text++;
		return take_number(&text, &operand->number) && !*text;
	}
	if (*text == '%')
		return take_register(&text, &operand->base) && !*text;
	operand->is_memory = true;
	if (*text != '(' && !take_number(&text, &operand->number))
		return false;
	if (*text++ != '(' || !take_register(&text, &operand->base))
		return false;
	if (*text == ',') {
		text++;
		if (!take_register(&text, &operand->index))
			return false;
		if (*text == ',') {
			text++;
			if (!take_number(&text, &scale) || scale < 1 || scale > 8)
				return false;
		}
	}
	operand->scale = (int32_t)scale;
	return strcmp(text, ")") == 0;
}

/* arm64: REG, NUMBER, [BASE], [BASE, OFFSET], [BASE, INDEX] */
static bool take_arm64(const char *text, struct operand *operand)
{
	if (isdigit((unsigned char)*text) || *text == '-') {
		operand->is_constant = true;
		return take_number(&text, &operand->number) && !*text;
	}
	operand->is_memory = *text == '[';
	text += operand->is_memory;
	if (!take_register(&text, &operand->base))
		return false;
	if (!operand->is_memory)
		return !*text;
	operand->scale = 1;
	if (*text == ',') {
		text += 1 + strspn(text + 1, " ");
		if (isalpha((unsigned char)*text) ? !take_register(&text, &operand->index) :
			!take_number(&text, &operand->number))
			return false;
	}
	return strcmp(text, "]") == 0;
}

static bool read_operand(const char *text, struct operand *operand)
{
	*operand = (struct operand){ .base = -1, .index = -1 };
	text = take_size(text, operand);
	if (!text)
		return false;
#if defined(__aarch64__)
	(void)take_x86;
	return take_arm64(text, operand);
#else
	(void)take_arm64;
	return take_x86(text, operand);
#endif
}

/* ---- instructions ------------------------------------------------------------------------------ */

static void load_operand(struct gen *gen, const struct operand *operand)
{
	const struct ast_type type = { .kind = AST_INTEGER, .bytes = operand->bytes,
		.is_signed = operand->is_signed };
	const int32_t unused = 64 - (int32_t)operand->bytes * 8;
	struct code *code = gen->code;

	if (operand->is_constant) {
		code_mov_imm64(code, BPF_REG_0, (uint64_t)operand->number);
		return;
	}
	code_load(code, BPF_DW, BPF_REG_0, BPF_REG_6, operand->base);
	if (!operand->is_memory) {
		if (unused) {
			code_alu_imm(code, BPF_LSH, BPF_REG_0, unused);
			code_alu_imm(code, operand->is_signed ? BPF_ARSH : BPF_RSH, BPF_REG_0, unused);
		}
		return;
	}
	if (operand->index >= 0) {
		code_load(code, BPF_DW, BPF_REG_1, BPF_REG_6, operand->index);
		code_alu_imm(code, BPF_MUL, BPF_REG_1, operand->scale);
		code_alu(code, BPF_ADD, BPF_REG_0, BPF_REG_1);
	}
	code_mov_imm64(code, BPF_REG_1, (uint64_t)operand->number);
	code_alu(code, BPF_ADD, BPF_REG_0, BPF_REG_1);
	gen_read(gen, &type, true, NULL);
}

void gen_static_argument(struct gen *gen, uint32_t number, struct ast_place place)
{
	const char *all = gen->source->arguments ? gen->source->arguments : "";
	char text[OPERAND_MAX];
	struct operand operand;

	gen->env->used_arguments = true;
	if (!find_operand(all, number, text))
		gen_refuse(gen, place, EINVAL, "the static probe has no argument arg%u; it has: %.200s",
			number, *all ? all : "none");
	else if (!read_operand(text, &operand))
		gen_refuse(gen, place, EOPNOTSUPP,
			"arg%u of the static probe is at '%s', which is not supported", number, text);
	else
		load_operand(gen, &operand);
}
