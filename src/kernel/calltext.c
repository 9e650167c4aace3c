/* SPDX-License-Identifier: MIT */
/* Records of system calls as text. */
#include "kernel/calltext.h"

#include <inttypes.h>
#include <string.h>

#include "kernel/callflags.h"
#include "kernel/callnames.h"

struct calltext {
	struct callnames names[2]; /* of this machine's programs, and of 32-bit ones */
	struct calltext_call calls[2][CALLNAMES_NUMBERS];
};

struct calltext *calltext_create(void)
{
	struct calltext *calltext = g_new0(struct calltext, 1);

	callnames_init(&calltext->names[0]);
	callnames_init_compat(&calltext->names[1]);
	for (int compat = 0; compat < 2; compat++) {
		const struct callnames *names = &calltext->names[compat];

		for (size_t i = 0; i < CALLNAMES_NUMBERS; i++) {
			struct calltext_call *call = &calltext->calls[compat][i];

			call->name = names->names[i];
			if (call->name)
				call->count = callargs_parse(names->args[i], call->args, &call->result);
		}
	}
	return calltext;
}

void calltext_destroy(struct calltext *calltext)
{
	g_free(calltext);
}

const struct calltext_call *calltext_call(
	const struct calltext *calltext, uint32_t number, bool compat)
{
	const struct calltext_call *call;

	if (number >= CALLNAMES_NUMBERS)
		return NULL;
	call = &calltext->calls[compat][number];
	return call->name ? call : NULL;
}

static bool is_compat(const struct kernel_record *record)
{
	return KERNEL_HEAD_FLAGS(record->head) & KERNEL_RECORD_COMPAT;
}

void calltext_print_label(
	const struct calltext *calltext, const struct kernel_record *record, GString *out)
{
	uint32_t id = KERNEL_HEAD_ID(record->head);
	const struct calltext_call *call = calltext_call(calltext, id, is_compat(record));

	if (call)
		g_string_append_printf(out, "syscall:%s", call->name);
	else
		g_string_append_printf(out, "syscall:%" PRIu32, id);
}

const char *calltext_string(const struct kernel_record *record, size_t bytes, unsigned int index,
	size_t *length, bool *cut)
{
	const char *at = (const char *)record + sizeof(*record) + sizeof(struct kernel_call);
	const char *end = (const char *)record + bytes;
	const struct kernel_call *call = (const struct kernel_call *)(const void *)(record + 1);
	uint64_t strings;

	if (bytes < sizeof(*record) + sizeof(*call) || index >= KERNEL_CALL_ARGS)
		return NULL;
	strings = call->strings;
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
		if (i == index) {
			*length = strnlen(at, (size_t)string.bytes);
			*cut = string.bytes == KERNEL_STRING_BYTES;
			return string.bytes ? at : NULL;
		}
		if ((string.bytes + 7) / 8 * 8 > (size_t)(end - at))
			return NULL;
		at += (string.bytes + 7) / 8 * 8;
	}
	return NULL;
}

static void print_arg(const struct calltext_call *known, unsigned int i,
	const struct kernel_record *record, size_t bytes, GString *out)
{
	const struct kernel_call *call = (const struct kernel_call *)(const void *)(record + 1);
	const struct callarg *arg = &known->args[i];
	const char *text;
	size_t length;
	bool cut;

	/* the flags stand before the mode: the kernel reads none if no file is created */
	if (arg->kind == CALLARG_CREATE_MODE && i && !callflags_create((uint32_t)call->args[i - 1]))
		return;
	g_string_append_printf(out, " %.*s=", (int)arg->name_bytes, arg->name);
	text = arg->kind == CALLARG_TEXT ? calltext_string(record, bytes, i, &length, &cut) : NULL;
	if (text)
		callargs_print_text(text, length, cut, out);
	else
		callargs_print(arg, call->args[i], is_compat(record), out);
}

static void print_args(const struct calltext *calltext, const struct kernel_record *record, size_t bytes,
	GString *out)
{
	const struct kernel_call *call = (const struct kernel_call *)(const void *)(record + 1);
	const struct calltext_call *known =
		calltext_call(calltext, KERNEL_HEAD_ID(record->head), is_compat(record));

	if (KERNEL_HEAD_FLAGS(record->head) & KERNEL_RECORD_NO_ENTRY) {
		g_string_append(out, " ?");
		return;
	}
	if (known) {
		for (unsigned int i = 0; i < known->count; i++)
			print_arg(known, i, record, bytes, out);
		return;
	}
	for (unsigned int i = 0; i < KERNEL_CALL_ARGS; i++)
		g_string_append_printf(out, " arg%u=0x%" PRIx64, i, call->args[i]);
}

void calltext_print(const struct calltext *calltext, const struct kernel_record *record, size_t bytes,
	GString *out)
{
	static const struct callarg number = { .name = "", .kind = CALLARG_LONG };
	const struct kernel_call *call = (const struct kernel_call *)(const void *)(record + 1);
	uint32_t flags = KERNEL_HEAD_FLAGS(record->head);
	const struct calltext_call *known =
		calltext_call(calltext, KERNEL_HEAD_ID(record->head), is_compat(record));
	size_t begin = out->len;

	if (bytes < sizeof(*record) + sizeof(*call))
		return;
	print_args(calltext, record, bytes, out);
	if (!(flags & KERNEL_RECORD_NO_RESULT)) {
		g_string_append(out, " = ");
		callargs_print_result(known ? &known->result : &number, call->result, out);
		/* without the entry the time that it took is not known */
		if (!(flags & KERNEL_RECORD_NO_ENTRY))
			g_string_append_printf(out, " (%.1f us)", (double)call->duration_ns / 1e3);
	}
	if (out->len > begin)
		g_string_erase(out, (gssize)begin, 1); /* the blank before the first word */
}
