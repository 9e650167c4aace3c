/* SPDX-License-Identifier: MIT */
/* Records of system calls as formats and arguments. */
#include "kernel/calltext.h"

#include <inttypes.h>
#include <string.h>

#include <kprof/ring_abi.h>

#include "kernel/calladdress.h"
#include "kernel/callflags.h"
#include "kernel/callnames.h"

/*
 * A key: the number of the call, bit 16 for one of a 32-bit program, and what its format depends on. From
 * bit 24 on there are two bits for each text or address of a socket, in the order of the arguments.
 */
#define KEY_NUMBER 0xffffu
#define KEY_COMPAT (1u << 16)
#define KEY_NO_ENTRY (1u << 17)
#define KEY_NO_RESULT (1u << 18)
#define KEY_ERROR (1u << 19)
#define KEY_REPEATED (1u << 20) /* an error with which the kernel repeats the call */
#define KEY_CREATE (1u << 21)	/* the call has a mode, and flags that create a file */
#define KEY_TEXT_SHIFT 24

enum text_state { TEXT_WHOLE, TEXT_CUT, TEXT_UNREADABLE };

/* One system call. */
struct known_call {
	const char *name; /* NULL: there is none of this number */
	size_t count;
	struct callarg args[CALLARGS_MAX];
	struct callarg result;
};

struct calltext {
	struct callnames names[2]; /* of this machine's programs, and of 32-bit ones */
	struct known_call calls[2][CALLNAMES_NUMBERS];
	struct known_call unknown;
};

struct calltext *calltext_create(void)
{
	struct calltext *calltext = g_new0(struct calltext, 1);

	callnames_init(&calltext->names[0]);
	callnames_init_compat(&calltext->names[1]);
	for (int compat = 0; compat < 2; compat++) {
		const struct callnames *names = &calltext->names[compat];

		for (size_t i = 0; i < CALLNAMES_NUMBERS; i++) {
			struct known_call *call = &calltext->calls[compat][i];

			call->name = names->names[i];
			if (call->name)
				call->count = callargs_parse(names->args[i], call->args, &call->result);
		}
	}
	calltext->unknown.count = callargs_parse("arg0:x arg1:x arg2:x arg3:x arg4:x arg5:x",
		calltext->unknown.args, &calltext->unknown.result);
	return calltext;
}

void calltext_destroy(struct calltext *calltext)
{
	g_free(calltext);
}

static const struct known_call *find_call(const struct calltext *calltext, uint32_t key)
{
	uint32_t number = key & KEY_NUMBER;
	const struct known_call *call = &calltext->unknown;

	if (number < CALLNAMES_NUMBERS)
		call = &calltext->calls[(key & KEY_COMPAT) != 0][number];
	return call->name ? call : &calltext->unknown;
}

static const struct kernel_call *call_of(const struct kernel_record *record)
{
	return (const struct kernel_call *)(const void *)(record + 1);
}

/* What was copied for argument `index`, NULL if it was not readable. */
static const char *find_copy(const struct kernel_record *record, size_t bytes, unsigned int index,
	size_t *length)
{
	const char *at = (const char *)(call_of(record) + 1);
	const char *end = (const char *)record + bytes;
	uint64_t strings = call_of(record)->strings;

	*length = 0;
	if (!(strings >> index & 1))
		return NULL;
	for (unsigned int i = 0; i <= index; i++) {
		struct kernel_string string;

		if (!(strings >> i & 1))
			continue;
		if ((size_t)(end - at) < sizeof(string))
			return NULL;
		memcpy(&string, at, sizeof(string));
		at += sizeof(string);
		if (string.bytes > KERNEL_STRING_BYTES || string.bytes > (size_t)(end - at))
			return NULL;
		*length = (size_t)string.bytes;
		if (i == index)
			return string.bytes ? at : NULL;
		if ((string.bytes + 7) / 8 * 8 > (size_t)(end - at))
			return NULL;
		at += (string.bytes + 7) / 8 * 8;
	}
	return NULL;
}

/* The text of argument `index`: its bytes without the NUL, NULL if it was not readable. */
static const char *find_text(const struct kernel_record *record, size_t bytes, unsigned int index,
	size_t *length, enum text_state *state)
{
	const char *text = find_copy(record, bytes, index, length);

	*state = TEXT_UNREADABLE;
	if (text) {
		*state = *length == KERNEL_STRING_BYTES ? TEXT_CUT : TEXT_WHOLE;
		*length = strnlen(text, *length);
	}
	return text;
}

/* The same of the address of a socket: its bytes. */
static const char *find_address(const struct kernel_record *record, size_t bytes, unsigned int index,
	size_t *length, enum text_state *state)
{
	const char *address = find_copy(record, bytes, index, length);

	if (address && *length < CALLADDRESS_BYTES_MIN)
		address = NULL;
	*state = address ? TEXT_WHOLE : TEXT_UNREADABLE;
	return address;
}

/* Whether it has a state in the key. */
static bool is_copied(const struct callarg *arg)
{
	return arg->kind == CALLARG_TEXT || arg->kind == CALLARG_SOCKET_ADDRESS;
}

uint32_t calltext_key(const struct calltext *calltext, const struct kernel_record *record, size_t bytes)
{
	uint32_t flags = KERNEL_HEAD_FLAGS(record->head), key = KERNEL_HEAD_ID(record->head) & KEY_NUMBER;
	const struct kernel_call *call = call_of(record);
	const struct known_call *known;
	unsigned int shift = KEY_TEXT_SHIFT;
	enum text_state state;
	size_t length;

	if (flags & KERNEL_RECORD_COMPAT)
		key |= KEY_COMPAT;
	if (flags & KERNEL_RECORD_NO_RESULT)
		key |= KEY_NO_RESULT;
	else if (callargs_is_repeated(call->result))
		key |= KEY_REPEATED;
	else if (callargs_is_error(call->result))
		key |= KEY_ERROR;
	if (flags & KERNEL_RECORD_NO_ENTRY)
		return key | KEY_NO_ENTRY;
	known = find_call(calltext, key);
	for (unsigned int i = 0; i < known->count; i++) {
		/* the flags stand before the mode */
		if (i && known->args[i].kind == CALLARG_CREATE_MODE &&
			callflags_create((uint32_t)call->args[i - 1]))
			key |= KEY_CREATE;
		if (!is_copied(&known->args[i]))
			continue;
		if (known->args[i].kind == CALLARG_TEXT)
			find_text(record, bytes, i, &length, &state);
		else
			find_address(record, bytes, i, &length, &state);
		key |= (uint32_t)state << shift;
		shift += 2;
	}
	return key;
}

char *calltext_label(const struct calltext *calltext, uint32_t key)
{
	const struct known_call *call = find_call(calltext, key);

	return call->name ? g_strdup_printf("syscall:%s", call->name) :
			    g_strdup_printf("syscall:%" PRIu32, key & KEY_NUMBER);
}

/* ---- formats ------------------------------------------------------------------------------------ */

static const char *conversion_of(enum callarg_kind kind)
{
	switch (kind) {
	case CALLARG_INT:
	case CALLARG_LONG:
		return "%ld";
	case CALLARG_UNSIGNED:
	case CALLARG_SIZE:
		return "%lu";
	case CALLARG_OCTAL:
	case CALLARG_CREATE_MODE:
		return "%#lo";
	case CALLARG_FLAGS:
		return "%s";
	case CALLARG_HEX:
	case CALLARG_ADDRESS:
	case CALLARG_TEXT:
	case CALLARG_SOCKET_ADDRESS:
		break;
	}
	return "%#lx";
}

static bool is_left_out(const struct callarg *arg, uint32_t key)
{
	return arg->kind == CALLARG_CREATE_MODE && !(key & KEY_CREATE);
}

/* The conversion of the next text or address: `shift` moves behind it. */
static const char *take_conversion(const struct callarg *arg, uint32_t key, unsigned int *shift)
{
	static const char *const texts[4] = { "\"%s\"", "\"%s\"...", "%#lx", "%#lx" };
	enum text_state state = key >> *shift & 3;

	*shift += 2;
	return state == TEXT_WHOLE && arg->kind == CALLARG_SOCKET_ADDRESS ? "%s" : texts[state];
}

static void append_args(const struct known_call *call, uint32_t key, GString *format)
{
	unsigned int shift = KEY_TEXT_SHIFT;

	for (size_t i = 0; i < call->count; i++) {
		const struct callarg *arg = &call->args[i];

		if (is_left_out(arg, key))
			continue;
		g_string_append_printf(format, " %.*s=%s", (int)arg->name_bytes, arg->name,
			is_copied(arg) ? take_conversion(arg, key, &shift) : conversion_of(arg->kind));
	}
}

char *calltext_format(const struct calltext *calltext, uint32_t key)
{
	const struct known_call *call = find_call(calltext, key);
	GString *format = g_string_new(NULL);

	if (key & KEY_NO_ENTRY)
		g_string_append(format, " ?");
	else
		append_args(call, key, format);
	if (key & KEY_ERROR)
		g_string_append(format, " = -1 %s (%s)");
	else if (key & KEY_REPEATED)
		g_string_append(format, " = ? %s (%s)");
	else if (!(key & KEY_NO_RESULT))
		g_string_append_printf(format, " = %s", conversion_of(call->result.kind));
	/* without the entry the time that it took is not known */
	if (!(key & (KEY_NO_RESULT | KEY_NO_ENTRY)))
		g_string_append(format, " (%.1f us)");
	if (format->len)
		g_string_erase(format, 0, 1); /* the blank before the first word */
	return g_string_free(format, FALSE);
}

/* ---- arguments ---------------------------------------------------------------------------------- */

static void add_word(GString *args, uint64_t word)
{
	g_string_append_len(args, (const char *)&word, sizeof(word));
}

/* A length of 16 bits and the bytes, up to a multiple of 8. */
static void add_text(GString *args, const char *text, size_t length)
{
	uint16_t bytes = (uint16_t)length;
	size_t begin = args->len;

	g_string_append_len(args, (const char *)&bytes, sizeof(bytes));
	g_string_append_len(args, text, (gssize)length);
	while ((args->len - begin) % 8)
		g_string_append_c(args, '\0');
}

static void add_flags(GString *args, const struct callflags *flags, uint64_t value)
{
	g_autoptr(GString) names = g_string_new(NULL);

	callflags_print(flags, (uint32_t)value, names);
	add_text(args, names->str, names->len);
}

/* The text of argument `index`, or of an address; false if it was not readable. */
static bool add_copied(const struct callarg *arg, const struct kernel_record *record, size_t bytes,
	unsigned int index, GString *args)
{
	g_autoptr(GString) printed = NULL;
	enum text_state state;
	const char *copied;
	size_t length;

	if (arg->kind == CALLARG_TEXT) {
		copied = find_text(record, bytes, index, &length, &state);
		if (copied)
			add_text(args, copied, length);
		return copied;
	}
	copied = find_address(record, bytes, index, &length, &state);
	if (!copied)
		return false;
	printed = g_string_new(NULL);
	calladdress_print(copied, length, printed);
	add_text(args, printed->str, printed->len);
	return true;
}

static void add_args(const struct known_call *known, uint32_t key, const struct kernel_record *record,
	size_t bytes, GString *args)
{
	const uint64_t *values = call_of(record)->args;

	for (unsigned int i = 0; i < known->count; i++) {
		const struct callarg *arg = &known->args[i];

		if (is_left_out(arg, key) || (is_copied(arg) && add_copied(arg, record, bytes, i, args)))
			continue;
		if (arg->kind == CALLARG_FLAGS)
			add_flags(args, arg->flags, values[i]);
		else
			add_word(args, callargs_value(arg, values[i], key & KEY_COMPAT));
	}
}

void calltext_args(const struct calltext *calltext, uint32_t key, const struct kernel_record *record,
	size_t bytes, GString *args)
{
	const struct kernel_call *call = call_of(record);
	const struct known_call *known = find_call(calltext, key);
	double duration_us = (double)call->duration_ns / 1e3;
	uint64_t word;

	if (!(key & KEY_NO_ENTRY))
		add_args(known, key, record, bytes, args);
	if (key & (KEY_ERROR | KEY_REPEATED)) {
		g_autofree char *name = callargs_error_name((int)-call->result);
		const char *text = callargs_error_text((int)-call->result);

		add_text(args, name, strlen(name));
		add_text(args, text, strlen(text));
	} else if (!(key & KEY_NO_RESULT)) {
		add_word(args, callargs_value(&known->result, (uint64_t)call->result, key & KEY_COMPAT));
	}
	if (!(key & (KEY_NO_RESULT | KEY_NO_ENTRY))) {
		memcpy(&word, &duration_us, sizeof(word));
		add_word(args, word);
	}
}
