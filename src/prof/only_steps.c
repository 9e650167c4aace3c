/* SPDX-License-Identifier: MIT */
/*
 * `only` as steps that a map has: see only_steps.h.
 *
 * The verifier follows each branch of each passage of a loop, and there are too many of them in an
 * interpreter that branches by the operator. So a step computes the results of all operators and takes the
 * one whose bit it has; comparisons are computed from sign bits. Operands and results are words on the stack
 * of the program, chosen by their index.
 */
#include "prof/only_steps.h"

#include <errno.h>
#include <glib.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "bpf/map.h"
#include "bpf/record.h"

/* What a step computes of a and b: the order of emit_operators(). Numbers have no sign but for LESS. */
enum operation {
	STEP_OR, STEP_XOR, STEP_AND, STEP_ADD, STEP_SUBTRACT, STEP_MULTIPLY, STEP_DIVIDE, STEP_REMAINDER,
	STEP_SHIFT_LEFT, STEP_SHIFT_RIGHT,
	STEP_EQUAL, /* 1 or 0, as the next two */
	STEP_LESS,
	STEP_COMM, /* whether the name of the thread is the text of the step */
};

/* A word, and a number that is XORed to it: one of both is 0. */
struct operand {
	uint64_t word; /* its index */
	uint64_t mask; /* 0: the word does not count */
	uint64_t number;
};

struct step {
	uint64_t operations; /* a bit; none: behind the last step */
	uint64_t flip;	     /* XORed to the result: 1 gives the opposite of a comparison */
	struct operand a, b;
	uint64_t to; /* the word that becomes the result; the last one is that of word 0 */
	uint64_t text[2], text_mask[2];
};

/* The value of a map. */
struct steps {
	uint64_t cgroups;
	struct {
		uint64_t level, id;
	} cgroup[ONLY_CGROUPS_MAX];
	struct step steps[ONLY_STEPS_MAX + 1];
};

/*
 * Words: results of steps, of which a tree that needs one more has twice as many operators; the names that
 * are numbers; whether the task is in the cgroups.
 */
#define RESULTS 6u
#define NAMES 6u
#define WORDS (RESULTS + NAMES + ONLY_CGROUPS_MAX)
_Static_assert(ONLY_STEPS_MAX < (1u << (RESULTS + 1)) - 1, "enough results");
_Static_assert(WORDS == 16 && ONLY_CPU == NAMES - 1, "indices are masked");

struct only_steps {
	struct only_fields fields;
	int table; /* an array with one map, which has the struct steps; none: nothing is checked */
};

/* ---- an expression as steps ------------------------------------------------------------------- */

struct making {
	const struct only *only;
	struct steps *steps;
	unsigned int count; /* also of those that did not fit */
	struct step rest;   /* the last one of these */
};

static bool is_string(const struct ast_expr *node)
{
	return node->kind == AST_BINARY && node->left->type.kind == AST_STRING;
}

static bool is_join(const struct ast_expr *node)
{
	return node->kind == AST_BINARY && (node->operator == AST_AND || node->operator == AST_OR);
}

static bool is_leaf(const struct ast_expr *node)
{
	return node->kind == AST_NUMBER || node->kind == AST_NAME;
}

/* Whether the value is 1 or 0. */
static bool is_bool(const struct ast_expr *node)
{
	switch (node->operator) {
	case '!':
	case '<':
	case '>':
	case AST_EQUAL:
	case AST_NOT_EQUAL:
	case AST_LESS_EQUAL:
	case AST_GREATER_EQUAL:
	case AST_AND:
	case AST_OR:
		return !is_leaf(node);
	default:
		return false;
	}
}

/* How many results a node and those below it need at a time; as a side of && or || (is_side) it is a bool. */
static unsigned int results_of(const struct ast_expr *node, bool is_side)
{
	unsigned int left, right;

	if (is_leaf(node))
		return is_side;
	if (node->kind == AST_UNARY)
		return MAX(1, results_of(node->right, false));
	if (is_string(node))
		return 1;
	left = results_of(node->left, is_join(node));
	right = results_of(node->right, is_join(node));
	return left == right ? left + 1 : MAX(left, right);
}

static struct operand number(uint64_t value)
{
	return (struct operand){ .number = value };
}

static struct operand word(uint64_t index)
{
	return (struct operand){ .word = index, .mask = UINT64_MAX };
}

static struct step *add(struct making *making, enum operation operation, struct operand a, struct operand b,
	uint64_t to)
{
	struct step *step = making->count < ONLY_STEPS_MAX ? &making->steps->steps[making->count]
							   : &making->rest;

	making->count++;
	*step = (struct step){ .operations = 1u << operation, .a = a, .b = b, .to = to };
	return step;
}

/* Whether it is another number than 0. */
static struct operand add_bool(struct making *making, struct operand value, uint64_t to)
{
	add(making, STEP_EQUAL, value, number(0), to)->flip = 1;
	return word(to);
}

/* The text and its NUL; it is shorter than the room of a name. */
static void add_comm(struct making *making, const char *text, bool is_not, uint64_t to)
{
	struct step *step = add(making, STEP_COMM, number(0), number(0), to);

	step->flip = is_not;
	memcpy(step->text, text, strlen(text));
	memset(step->text_mask, 0xff, strlen(text) + 1);
}

static void add_cgroup(struct making *making, const struct cgroup *cgroup, bool is_not, uint64_t to)
{
	struct steps *steps = making->steps;
	const uint64_t index = steps->cgroups++;

	add(making, STEP_XOR, word(RESULTS + NAMES + index % ONLY_CGROUPS_MAX), number(is_not), to);
	if (index < ONLY_CGROUPS_MAX) {
		steps->cgroup[index].level = cgroup->level;
		steps->cgroup[index].id = cgroup->id;
	}
}

static void add_string(struct making *making, const struct ast_expr *node, uint64_t to)
{
	const struct ast_expr *name = node->left->kind == AST_NAME ? node->left : node->right;
	const struct ast_expr *literal = name == node->left ? node->right : node->left;
	const bool is_not = node->operator == AST_NOT_EQUAL;

	if (name->number == ONLY_COMM)
		add_comm(making, literal->text, is_not, to);
	else
		add_cgroup(making, only_cgroup_of(making->only, literal), is_not, to);
}

static struct operand add_node(struct making *making, const struct ast_expr *node, uint64_t to);

/* The two sides: the one that needs more results is computed first. */
static void add_sides(struct making *making, const struct ast_expr *node, uint64_t to, struct operand *left,
	struct operand *right)
{
	const bool join = is_join(node);
	const bool right_first = results_of(node->right, join) > results_of(node->left, join);
	const struct ast_expr *sides[] = { right_first ? node->right : node->left,
		right_first ? node->left : node->right };
	struct operand values[2];
	uint64_t at = to;

	for (int i = 0; i < 2; i++) {
		values[i] = add_node(making, sides[i], at);
		if (join && !is_bool(sides[i]))
			values[i] = add_bool(making, values[i], at);
		at += values[i].mask && values[i].word == at;
	}
	*left = values[right_first];
	*right = values[!right_first];
}

static void add_operator(struct making *making, int operator, struct operand a, struct operand b, uint64_t to)
{
	switch (operator) {
	case '|':
	case AST_OR: add(making, STEP_OR, a, b, to); return;
	case '^': add(making, STEP_XOR, a, b, to); return;
	case '&':
	case AST_AND: add(making, STEP_AND, a, b, to); return;
	case '+': add(making, STEP_ADD, a, b, to); return;
	case '-': add(making, STEP_SUBTRACT, a, b, to); return;
	case '*': add(making, STEP_MULTIPLY, a, b, to); return;
	case '/': add(making, STEP_DIVIDE, a, b, to); return;
	case '%': add(making, STEP_REMAINDER, a, b, to); return;
	case '<': add(making, STEP_LESS, a, b, to); return;
	case '>': add(making, STEP_LESS, b, a, to); return;
	case AST_EQUAL: add(making, STEP_EQUAL, a, b, to); return;
	case AST_NOT_EQUAL: add(making, STEP_EQUAL, a, b, to)->flip = 1; return;
	case AST_LESS_EQUAL: add(making, STEP_LESS, b, a, to)->flip = 1; return;
	case AST_GREATER_EQUAL: add(making, STEP_LESS, a, b, to)->flip = 1; return;
	case AST_SHIFT_LEFT: add(making, STEP_SHIFT_LEFT, a, b, to); return;
	default: add(making, STEP_SHIFT_RIGHT, a, b, to); return;
	}
}

static void add_unary(struct making *making, const struct ast_expr *node, uint64_t to)
{
	const struct operand value = add_node(making, node->right, to);

	if (node->operator == '-')
		add(making, STEP_SUBTRACT, number(0), value, to);
	else if (node->operator == '~')
		add(making, STEP_XOR, value, number(UINT64_MAX), to);
	else
		add(making, STEP_EQUAL, value, number(0), to);
}

/* The value of a node: it is in the result `to`, or needs none. */
static struct operand add_node(struct making *making, const struct ast_expr *node, uint64_t to)
{
	struct operand left, right;

	if (node->kind == AST_NUMBER)
		return number(node->number);
	if (node->kind == AST_NAME)
		return word(RESULTS + node->number);
	if (node->kind == AST_UNARY) {
		add_unary(making, node, to);
	} else if (is_string(node)) {
		add_string(making, node, to);
	} else {
		add_sides(making, node, to, &left, &right);
		add_operator(making, node->operator, left, right, to);
	}
	return word(to);
}

static int make_steps(const struct only *only, struct steps *steps, struct err *err)
{
	struct making making = { .only = only, .steps = steps };
	struct operand value;

	memset(steps, 0, sizeof(*steps));
	value = add_node(&making, only_root(only), 0);
	if (!making.count)
		add(&making, STEP_OR, value, number(0), 0);
	if (making.count > ONLY_STEPS_MAX)
		return err_set(err, E2BIG, "the expression of `only` has %u operators: beside programs that "
			"call sample() it may have %u", making.count, ONLY_STEPS_MAX);
	if (steps->cgroups > ONLY_CGROUPS_MAX)
		return err_set(err, E2BIG, "the expression of `only` names %u cgroups: beside programs that "
			"call sample() it may name %u", (unsigned int)steps->cgroups, ONLY_CGROUPS_MAX);
	return 0;
}

/* ---- maps ------------------------------------------------------------------------------------- */

static int create_steps(int *fd, struct err *err)
{
	const struct map_spec spec = { .type = BPF_MAP_TYPE_ARRAY, .name = "kp_only_steps", .key_bytes = 4,
		.value_bytes = sizeof(struct steps), .entries = 1 };

	return map_create(&spec, fd, err);
}

int only_steps_create(struct only_steps **out, struct err *err)
{
	struct map_spec table = { .type = BPF_MAP_TYPE_ARRAY_OF_MAPS, .name = "kp_only_table", .key_bytes = 4,
		.value_bytes = 4, .entries = 1 };
	struct only_steps *steps = g_new0(struct only_steps, 1);
	int ret;

	steps->table = -1;
	ret = only_fields_find(&steps->fields, err);
	if (!ret)
		ret = create_steps(&table.inner, err);
	if (!ret) {
		ret = map_create(&table, &steps->table, err);
		close(table.inner);
	}
	if (ret) {
		only_steps_destroy(steps);
		return ret;
	}
	*out = steps;
	return 0;
}

void only_steps_destroy(struct only_steps *steps)
{
	if (!steps)
		return;
	if (steps->table >= 0)
		close(steps->table);
	g_free(steps);
}

/* The kernel waits until no program uses the map of before. */
static int replace(const struct only_steps *steps, const struct steps *value, struct err *err)
{
	const uint32_t first = 0;
	int fd, ret = create_steps(&fd, err);

	if (ret)
		return ret;
	ret = map_update(fd, &first, value, BPF_ANY);
	if (!ret)
		ret = map_update(steps->table, &first, &fd, BPF_ANY);
	close(fd);
	return ret ? err_set(err, -ret, "the steps of `only`: %s", g_strerror(-ret)) : 0;
}

int only_steps_set(struct only_steps *steps, const struct only *only, struct err *err)
{
	const uint32_t first = 0;
	struct steps *value;
	int ret;

	if (!only) {
		(void)map_delete(steps->table, &first); /* -ENOENT: there is none */
		return 0;
	}
	value = g_new(struct steps, 1);
	ret = make_steps(only, value, err);
	if (!ret)
		ret = replace(steps, value, err);
	g_free(value);
	return ret;
}

/* ---- instructions ----------------------------------------------------------------------------- */

/* Offsets on the stack of a program: the map's value, the number of the step, the name, the words. */
struct frame {
	int map, at, comm, words;
};

/* R0 = the value of the table's map, or on to `taken`. */
static void look_up(const struct only_steps *steps, const struct frame *frame, struct code *code, int taken)
{
	code_store_imm(code, BPF_W, BPF_REG_10, frame->at, 0);
	code_map(code, BPF_REG_1, steps->table);
	for (int i = 0; i < 2; i++) {
		if (i)
			code_mov(code, BPF_REG_1, BPF_REG_0);
		code_mov(code, BPF_REG_2, BPF_REG_10);
		code_alu_imm(code, BPF_ADD, BPF_REG_2, frame->at);
		code_call(code, BPF_FUNC_map_lookup_elem);
		code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, taken);
	}
	code_store(code, BPF_DW, BPF_REG_10, frame->map, BPF_REG_0);
	/* the verifier follows each word that it knows: these are unknown to it */
	code_load(code, BPF_DW, BPF_REG_0, BPF_REG_0, offsetof(struct steps, steps[0].to));
	for (unsigned int i = 0; i < WORDS; i++)
		code_store(code, BPF_DW, BPF_REG_10, frame->words + (int)i * 8, BPF_REG_0);
}

/* reg = 1 if it is 0, else 0. R5 is lost. */
static void is_zero(struct code *code, int reg)
{
	code_mov(code, BPF_REG_5, reg);
	code_alu_imm(code, BPF_NEG, BPF_REG_5, 0);
	code_alu(code, BPF_OR, reg, BPF_REG_5);
	code_alu_imm(code, BPF_RSH, reg, 63);
	code_alu_imm(code, BPF_XOR, reg, 1);
}

static void load_names(const struct only_steps *steps, const struct frame *frame, struct code *code)
{
	code_call(code, BPF_FUNC_get_current_task_btf);
	code_mov(code, BPF_REG_7, BPF_REG_0);
	for (int i = 0; i < (int)KERNEL_COMM_BYTES; i += 8) {
		code_load(code, BPF_DW, BPF_REG_0, BPF_REG_7, steps->fields.comm + i);
		code_store(code, BPF_DW, BPF_REG_10, frame->comm + i, BPF_REG_0);
	}
	for (int name = 0; name < (int)NAMES; name++) {
		only_emit_name(&steps->fields, (enum only_name)name, BPF_REG_7, code);
		code_store(code, BPF_DW, BPF_REG_10, frame->words + ((int)RESULTS + name) * 8, BPF_REG_0);
	}
}

static void load_cgroups(const struct frame *frame, struct code *code)
{
	const int done = code_label(code);

	code_load(code, BPF_DW, BPF_REG_7, BPF_REG_10, frame->map);
	for (int i = 0; i < (int)ONLY_CGROUPS_MAX; i++) {
		code_load(code, BPF_DW, BPF_REG_0, BPF_REG_7, offsetof(struct steps, cgroups));
		code_jump_if_imm(code, BPF_JLE, BPF_REG_0, i, done);
		code_load(code, BPF_DW, BPF_REG_1, BPF_REG_7, (int)offsetof(struct steps, cgroup[i].level));
		code_call(code, BPF_FUNC_get_current_ancestor_cgroup_id);
		code_load(code, BPF_DW, BPF_REG_1, BPF_REG_7, (int)offsetof(struct steps, cgroup[i].id));
		code_alu(code, BPF_XOR, BPF_REG_0, BPF_REG_1);
		is_zero(code, BPF_REG_0);
		code_store(code, BPF_DW, BPF_REG_10, frame->words + ((int)(RESULTS + NAMES) + i) * 8,
			BPF_REG_0);
	}
	code_place(code, done);
}

/* dst = R10 and the offset of the word of which R7 has the index there. */
static void point_to_word(const struct frame *frame, int dst, int index, struct code *code)
{
	code_load(code, BPF_DW, BPF_REG_5, BPF_REG_7, index);
	code_alu_imm(code, BPF_AND, BPF_REG_5, WORDS - 1);
	code_alu_imm(code, BPF_LSH, BPF_REG_5, 3);
	code_mov(code, dst, BPF_REG_10);
	code_alu_imm(code, BPF_ADD, dst, frame->words);
	code_alu(code, BPF_ADD, dst, BPF_REG_5);
}

static void load_operand(const struct frame *frame, int dst, int operand, struct code *code)
{
	point_to_word(frame, dst, operand + (int)offsetof(struct operand, word), code);
	code_load(code, BPF_DW, dst, dst, 0);
	code_load(code, BPF_DW, BPF_REG_5, BPF_REG_7, operand + (int)offsetof(struct operand, mask));
	code_alu(code, BPF_AND, dst, BPF_REG_5);
	code_load(code, BPF_DW, BPF_REG_5, BPF_REG_7, operand + (int)offsetof(struct operand, number));
	code_alu(code, BPF_XOR, dst, BPF_REG_5);
}

/* Takes R2, if the lowest bit of R4 is set, as the result R3. The next bit is that of the next operation. */
static void choose(struct code *code)
{
	code_mov(code, BPF_REG_5, BPF_REG_4);
	code_alu_imm(code, BPF_AND, BPF_REG_5, 1);
	code_alu_imm(code, BPF_NEG, BPF_REG_5, 0);
	code_alu(code, BPF_AND, BPF_REG_5, BPF_REG_2);
	code_alu(code, BPF_OR, BPF_REG_3, BPF_REG_5);
	code_alu_imm(code, BPF_RSH, BPF_REG_4, 1);
}

static void emit_arithmetic(struct code *code)
{
	static const int operations[] = { BPF_OR, BPF_XOR, BPF_AND, BPF_ADD, BPF_SUB, BPF_MUL };

	for (size_t i = 0; i < G_N_ELEMENTS(operations); i++) {
		code_mov(code, BPF_REG_2, BPF_REG_0);
		code_alu(code, operations[i], BPF_REG_2, BPF_REG_1);
		choose(code);
	}
	code_mov(code, BPF_REG_2, BPF_REG_0);
	code_alu(code, BPF_DIV, BPF_REG_2, BPF_REG_1); /* by 0 it is 0 */
	choose(code);
	code_alu(code, BPF_MUL, BPF_REG_2, BPF_REG_1);
	code_alu_imm(code, BPF_NEG, BPF_REG_2, 0);
	code_alu(code, BPF_ADD, BPF_REG_2, BPF_REG_0);
	choose(code);
	for (int i = 0; i < 2; i++) {
		code_mov(code, BPF_REG_5, BPF_REG_1);
		code_alu_imm(code, BPF_AND, BPF_REG_5, 63);
		code_mov(code, BPF_REG_2, BPF_REG_0);
		code_alu(code, i ? BPF_RSH : BPF_LSH, BPF_REG_2, BPF_REG_5);
		choose(code);
	}
}

/* a < b: the sign of a - b, or of b if that overflows. R0 is lost. */
static void emit_less(struct code *code)
{
	code_mov(code, BPF_REG_2, BPF_REG_0);
	code_alu(code, BPF_SUB, BPF_REG_2, BPF_REG_1);
	code_alu(code, BPF_XOR, BPF_REG_1, BPF_REG_0);
	code_alu(code, BPF_XOR, BPF_REG_0, BPF_REG_2);
	code_alu(code, BPF_AND, BPF_REG_0, BPF_REG_1);
	code_alu(code, BPF_XOR, BPF_REG_2, BPF_REG_0);
	code_alu_imm(code, BPF_RSH, BPF_REG_2, 63);
	choose(code);
}

/* R0 and R1 are lost. */
static void emit_comm(const struct frame *frame, struct code *code)
{
	code_mov_imm(code, BPF_REG_2, 0);
	for (int i = 0; i < (int)KERNEL_COMM_BYTES / 8; i++) {
		code_load(code, BPF_DW, BPF_REG_0, BPF_REG_10, frame->comm + i * 8);
		code_load(code, BPF_DW, BPF_REG_1, BPF_REG_7, (int)offsetof(struct step, text_mask[i]));
		code_alu(code, BPF_AND, BPF_REG_0, BPF_REG_1);
		code_load(code, BPF_DW, BPF_REG_1, BPF_REG_7, (int)offsetof(struct step, text[i]));
		code_alu(code, BPF_XOR, BPF_REG_0, BPF_REG_1);
		code_alu(code, BPF_OR, BPF_REG_2, BPF_REG_0);
	}
	is_zero(code, BPF_REG_2);
	choose(code);
}

/* R0 and R1 are a and b; R3 becomes the result. */
static void emit_operators(const struct frame *frame, struct code *code)
{
	code_mov_imm(code, BPF_REG_3, 0);
	emit_arithmetic(code);
	code_mov(code, BPF_REG_2, BPF_REG_0);
	code_alu(code, BPF_XOR, BPF_REG_2, BPF_REG_1);
	is_zero(code, BPF_REG_2);
	choose(code);
	emit_less(code);
	emit_comm(frame, code);
	code_load(code, BPF_DW, BPF_REG_0, BPF_REG_7, offsetof(struct step, flip));
	code_alu(code, BPF_XOR, BPF_REG_3, BPF_REG_0);
}

static void emit_loop(const struct frame *frame, struct code *code)
{
	const int loop = code_label(code), end = code_label(code);

	code_store_imm(code, BPF_DW, BPF_REG_10, frame->at, 0);
	code_place(code, loop);
	code_load(code, BPF_DW, BPF_REG_0, BPF_REG_10, frame->at);
	code_jump_if_imm(code, BPF_JGE, BPF_REG_0, ONLY_STEPS_MAX, end);
	code_mov(code, BPF_REG_1, BPF_REG_0);
	code_alu_imm(code, BPF_ADD, BPF_REG_1, 1);
	code_store(code, BPF_DW, BPF_REG_10, frame->at, BPF_REG_1);
	code_alu_imm(code, BPF_MUL, BPF_REG_0, sizeof(struct step));
	code_load(code, BPF_DW, BPF_REG_7, BPF_REG_10, frame->map);
	code_alu_imm(code, BPF_ADD, BPF_REG_7, offsetof(struct steps, steps));
	code_alu(code, BPF_ADD, BPF_REG_7, BPF_REG_0);
	code_load(code, BPF_DW, BPF_REG_4, BPF_REG_7, offsetof(struct step, operations));
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_4, 0, end);
	load_operand(frame, BPF_REG_0, offsetof(struct step, a), code);
	load_operand(frame, BPF_REG_1, offsetof(struct step, b), code);
	emit_operators(frame, code);
	point_to_word(frame, BPF_REG_0, offsetof(struct step, to), code);
	code_store(code, BPF_DW, BPF_REG_0, 0, BPF_REG_3);
	code_jump(code, loop);
	code_place(code, end);
}

void only_steps_emit(const struct only_steps *steps, struct code *code, int refused)
{
	const int mark = code->stack, taken = code_label(code);
	const struct frame frame = { code_stack(code, 8), code_stack(code, 8),
		code_stack(code, KERNEL_COMM_BYTES), code_stack(code, WORDS * 8) };

	look_up(steps, &frame, code, taken);
	load_names(steps, &frame, code);
	load_cgroups(&frame, code);
	emit_loop(&frame, code);
	code_load(code, BPF_DW, BPF_REG_0, BPF_REG_10, frame.words);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, refused);
	code_place(code, taken);
	code_stack_back(code, mark);
}
