/* SPDX-License-Identifier: MIT */
/*
 * kernel/calltext, callargs and callflags, with trace/trace_text. The expected texts follow
 * strace(1); tests/fs/call_names.sh compares names with strace itself.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "kernel/callflags.h"
#include "kernel/callnames.h"
#include "kernel/calltext.h"
#include "trace/trace_text.h"

/* A record with room for the longest texts. */
struct sample {
	struct kernel_record record;
	struct kernel_call call;
	uint64_t texts[2 * (1 + (KERNEL_STRING_BYTES + 7) / 8)];
	size_t bytes;
};

static void begin(struct sample *sample, uint32_t id, uint32_t flags, int64_t result)
{
	memset(sample, 0, sizeof(*sample));
	sample->record.head = KERNEL_HEAD(0, 0, flags, id);
	sample->call.result = result;
	sample->call.duration_ns = 4200;
	sample->bytes = offsetof(struct sample, texts);
}

static void add_text(struct sample *sample, unsigned int arg, const char *text, size_t bytes)
{
	uint64_t *at = (uint64_t *)(void *)((char *)sample + sample->bytes);

	sample->call.strings |= 1u << arg;
	*at = bytes;
	memcpy(at + 1, text, bytes);
	sample->bytes += 8 + (bytes + 7) / 8 * 8;
}

/* Label, format and arguments, put together by the code that writes the trace. `row`: for the message. */
static void assert_line_of(int row, const struct sample *sample, const char *expected)
{
	struct calltext *calltext = calltext_create();
	struct trace_text *trace_text = trace_text_create();
	/* of its own size, so that a sanitizer sees reads behind it */
	struct kernel_record *copy = g_memdup2(sample, sample->bytes);
	uint32_t key = calltext_key(calltext, copy, sample->bytes);
	g_autofree char *label = calltext_label(calltext, key);
	g_autofree char *format = calltext_format(calltext, key);
	GString *args = g_string_new(NULL), *line = g_string_new(NULL);
	struct trace_text_event event = { .label = label, .program = "", .format = format,
		.format_bytes = (uint32_t)strlen(format) };
	size_t bytes;
	bool cut;

	calltext_args(calltext, key, copy, sample->bytes, args);
	event.args = args->str;
	event.args_bytes = (uint32_t)args->len;
	g_string_append_printf(line, "%s: %s", label, trace_text_format(trace_text, &event, &bytes, &cut));
	assert_false(cut);
	if (strcmp(line->str, expected))
		print_error("the row of line %d:\n", row);
	assert_string_equal(line->str, expected);
	g_string_free(line, TRUE);
	g_string_free(args, TRUE);
	g_free(copy);
	trace_text_destroy(trace_text);
	calltext_destroy(calltext);
}

static void assert_line(const struct sample *sample, const char *expected)
{
	assert_line_of(0, sample, expected);
}

static void test_lines(void **state)
{
	struct sample s;

	(void)state;
	begin(&s, SYS_openat, 0, 3);
	s.call.args[0] = (uint64_t)-100;
	s.call.args[1] = 0x7f0000001000;
	s.call.args[3] = 0644; /* not written: no file is created */
	add_text(&s, 1, "/etc/passwd", 12);
	assert_line(&s, "syscall:openat: dfd=AT_FDCWD filename=\"/etc/passwd\" flags=O_RDONLY = 3 (4.2 us)");

	s.call.args[2] = 01101; /* O_WRONLY | O_CREAT | O_TRUNC */
	s.call.result = -EACCES;
	assert_line(&s, "syscall:openat: dfd=AT_FDCWD filename=\"/etc/passwd\" "
			"flags=O_WRONLY|O_CREAT|O_TRUNC mode=0644 = -1 EACCES (Permission denied) (4.2 us)");

	begin(&s, SYS_renameat2, 0, 0);
	s.call.args[0] = 0xffffff9c; /* an int may have zeros in the upper half of its register */
	s.call.args[2] = 7;
	s.call.args[4] = 3;
	add_text(&s, 1, "a", 2);
	add_text(&s, 3, "bcdefghi", 9);
	assert_line(&s, "syscall:renameat2: olddfd=AT_FDCWD oldname=\"a\" newdfd=7 "
			"newname=\"bcdefghi\" flags=RENAME_NOREPLACE|RENAME_EXCHANGE = 0 (4.2 us)");

	begin(&s, SYS_mmap, 0, 0x7f1234560000);
	s.call.args[1] = 8192;
	s.call.args[2] = 3;
	s.call.args[3] = 0x22;
	s.call.args[4] = 0xffffffff;
	assert_line(&s, "syscall:mmap: addr=0 len=8192 prot=PROT_READ|PROT_WRITE "
			"flags=MAP_PRIVATE|MAP_ANONYMOUS fd=-1 off=0 = 0x7f1234560000 (4.2 us)");

	begin(&s, SYS_exit_group, KERNEL_RECORD_NO_RESULT, 0);
	s.call.args[0] = 1;
	assert_line(&s, "syscall:exit_group: error_code=1");

	begin(&s, SYS_read, KERNEL_RECORD_NO_ENTRY, -512);
	assert_line(&s, "syscall:read: ? = ? ERESTARTSYS (To be restarted if SA_RESTART is set)");

	begin(&s, SYS_getppid, 0, 5000);
	assert_line(&s, "syscall:getppid: = 5000 (4.2 us)");
	begin(&s, CALLNAMES_NUMBERS + 1, 0, -4095);
	s.call.args[5] = 0xabc;
	assert_line(&s, "syscall:1025: arg0=0 arg1=0 arg2=0 arg3=0 arg4=0 arg5=0xabc "
			"= -1 4095 (Unknown error) (4.2 us)");
}

static void test_32_bit_calls(void **state)
{
#ifdef __x86_64__
	struct sample s;

	(void)state;
	/* arch/x86/entry/syscalls/syscall_32.tbl: 5 open, 102 socketcall, 180 pread64 */
	begin(&s, 5, KERNEL_RECORD_COMPAT, -ENOENT);
	s.call.args[0] = 0x08048000;
	assert_line(&s, "syscall:open: filename=0x8048000 flags=O_RDONLY "
			"= -1 ENOENT (No such file or directory) (4.2 us)");
	begin(&s, 180, KERNEL_RECORD_COMPAT, 1);
	s.call.args[2] = 0xffffffff00000001; /* the upper half is none of a 32-bit program's */
	s.call.args[3] = 2;
	s.call.args[4] = 3;
	assert_line(&s, "syscall:pread64: fd=0 buf=0 count=1 pos_low=2 pos_high=3 = 1 (4.2 us)");
	begin(&s, 102, KERNEL_RECORD_COMPAT, 0);
	assert_line(&s, "syscall:socketcall: call=0 args=0 = 0 (4.2 us)");
#else
	(void)state;
	skip();
#endif
}

/* Texts of records that were damaged are left out, and nothing is read behind the record. */
static void test_damaged_texts(void **state)
{
	static const char xs[KERNEL_STRING_BYTES] = "";
	char text[KERNEL_STRING_BYTES];
	struct sample s;
	GString *expected = g_string_new("syscall:chdir: filename=\"");

	(void)state;
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	for (size_t i = 0; i + 1 < sizeof(text); i++)
		g_string_append_c(expected, 'x');
	g_string_append(expected, "\"... = 0 (4.2 us)");
	begin(&s, SYS_chdir, 0, 0);
	add_text(&s, 0, text, sizeof(text));
	assert_line(&s, expected->str);
	g_string_free(expected, TRUE);

	begin(&s, SYS_chdir, 0, 0);
	s.call.args[0] = 0x1000;
	add_text(&s, 0, "", 0); /* it was not readable */
	assert_line(&s, "syscall:chdir: filename=0x1000 = 0 (4.2 us)");
	s.texts[0] = KERNEL_STRING_BYTES + 1;
	assert_line(&s, "syscall:chdir: filename=0x1000 = 0 (4.2 us)");
	s.texts[0] = 8; /* behind the end */
	assert_line(&s, "syscall:chdir: filename=0x1000 = 0 (4.2 us)");
	s.bytes -= 8;
	assert_line(&s, "syscall:chdir: filename=0x1000 = 0 (4.2 us)");

	begin(&s, SYS_symlinkat, 0, 0);
	s.call.args[2] = 0x2000;
	add_text(&s, 0, xs, 1);
	s.call.strings = UINT64_MAX;
	assert_line(&s, "syscall:symlinkat: oldname=\"\" newdfd=0 newname=0x2000 = 0 (4.2 us)");
}

/* The bytes are those of the C library's structs; ports and IP addresses are in the order of the network. */
static void test_addresses(void **state)
{
	static const char inet[16] = { [2] = 0, 80, 127, 0, 0, 1 };
	static const char inet6[28] = { [2] = 0, 53, 0, 0, 0, 0, (char)0xfe, (char)0x80, [23] = 1 };
	const struct {
		int line;
		sa_family_t family;
		const char *bytes; /* with two in place of the family */
		size_t count;
		uint32_t scope; /* of the byte 24 on, in the order of this machine */
		const char *expected;
	} rows[] = {
		{ __LINE__, AF_INET, inet, 16, 0, "{AF_INET, 127.0.0.1:80}" },
		{ __LINE__, AF_INET, inet, 8, 0, "{AF_INET, 127.0.0.1:80}" },
		{ __LINE__, AF_INET, inet, 7, 0, "{AF_INET, 0x00507f0000}" },
		{ __LINE__, AF_INET, inet, 2, 0, "{AF_INET}" },
		{ __LINE__, AF_INET6, inet6, 28, 0, "{AF_INET6, [fe80::1]:53}" },
		{ __LINE__, AF_INET6, inet6, 28, 2, "{AF_INET6, [fe80::1%2]:53}" },
		{ __LINE__, AF_INET6, inet6, 27, 2, "{AF_INET6, [fe80::1]:53}" },
		{ __LINE__, AF_INET6, inet6, 24, 0, "{AF_INET6, [fe80::1]:53}" },
		{ __LINE__, AF_INET6, inet6, 23, 0,
			"{AF_INET6, 0x003500000000fe8000000000000000000000000000}" },
		{ __LINE__, AF_UNIX, "..", 2, 0, "{AF_UNIX}" },
		{ __LINE__, AF_UNIX, "../run/a\0bc", 12, 0, "{AF_UNIX, \"/run/a\"}" },
		{ __LINE__, AF_UNIX, "../run/a", 8, 0, "{AF_UNIX, \"/run/a\"}" },
		{ __LINE__, AF_UNIX, "..a\nb\177", 6, 0, "{AF_UNIX, \"a\\x0ab\\x7f\"}" },
		{ __LINE__, AF_UNIX, "..\0name", 7, 0, "{AF_UNIX, @\"name\"}" },
		{ __LINE__, AF_UNIX, "..\0a\0b\0", 7, 0, "{AF_UNIX, @\"a\\x00b\\x00\"}" },
		{ __LINE__, AF_UNIX, "..\0", 3, 0, "{AF_UNIX, @\"\"}" },
		{ __LINE__, AF_UNSPEC, "..\0\0", 4, 0, "{AF_UNSPEC, 0x0000}" },
		{ __LINE__, AF_NETLINK, "..\0\0\1\2\3\377", 8, 0, "{AF_NETLINK, 0x0000010203ff}" },
		{ __LINE__, 999, "..\1", 3, 0, "{999, 0x01}" },
		/* no family */
		{ __LINE__, AF_INET, inet, 1, 0, "0x7000" },
		{ __LINE__, AF_INET, inet, 0, 0, "0x7000" },
	};
	struct sample s;
	char bytes[28], line[200];

	(void)state;
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		memcpy(bytes, rows[i].bytes, rows[i].count);
		memcpy(bytes, &rows[i].family, sizeof(rows[i].family));
		if (rows[i].scope)
			memcpy(bytes + 24, &rows[i].scope, sizeof(rows[i].scope));
		begin(&s, SYS_connect, 0, -ECONNREFUSED);
		s.call.args[0] = 3;
		s.call.args[1] = 0x7000;
		s.call.args[2] = rows[i].count;
		add_text(&s, 1, bytes, rows[i].count);
		snprintf(line, sizeof(line), "syscall:connect: fd=3 uservaddr=%s addrlen=%zu = "
			"-1 ECONNREFUSED (Connection refused) (4.2 us)", rows[i].expected, rows[i].count);
		assert_line_of(rows[i].line, &s, line);
	}
}

/* The longest one, one that was not copied, and damaged ones. */
static void test_bounds_of_addresses(void **state)
{
	char bytes[KERNEL_ADDRESS_BYTES], line[400];
	const sa_family_t family = AF_UNIX;
	struct sample s;

	(void)state;
	memset(bytes, 'x', sizeof(bytes));
	memcpy(bytes, &family, sizeof(family));
	begin(&s, SYS_sendto, 0, 5);
	s.call.args[4] = 0x7000;
	s.call.args[5] = 128;
	add_text(&s, 4, bytes, sizeof(bytes));
	snprintf(line, sizeof(line), "syscall:sendto: fd=0 buff=0 len=0 flags=0 addr={AF_UNIX, \"%.126s\"} "
		"addr_len=128 = 5 (4.2 us)", bytes + 2);
	assert_line(&s, line);
	s.texts[0] = 136; /* behind the end */
	assert_line(&s, "syscall:sendto: fd=0 buff=0 len=0 flags=0 addr=0x7000 addr_len=128 = 5 (4.2 us)");
	s.texts[0] = UINT64_MAX;
	assert_line(&s, "syscall:sendto: fd=0 buff=0 len=0 flags=0 addr=0x7000 addr_len=128 = 5 (4.2 us)");
	s.call.strings = 0;
	s.call.args[4] = 0;
	assert_line(&s, "syscall:sendto: fd=0 buff=0 len=0 flags=0 addr=0 addr_len=128 = 5 (4.2 us)");
	begin(&s, 361, KERNEL_RECORD_COMPAT, 0); /* bind of 32-bit programs, whose addresses are not copied */
	s.call.args[1] = 0xffff7000;
	s.call.args[2] = 16;
#if defined(__x86_64__)
	assert_line(&s, "syscall:bind: fd=0 umyaddr=0xffff7000 addrlen=16 = 0 (4.2 us)");
#endif
}

static void assert_flags(const char *kind, uint32_t value, const char *expected)
{
	const struct callflags *flags = callflags_find(kind, strlen(kind));
	GString *out = g_string_new(NULL);

	assert_non_null(flags);
	callflags_print(flags, value, out);
	assert_string_equal(out->str, expected);
	g_string_free(out, TRUE);
}

/* Numbers as on x86, where they are not the same everywhere. */
static void test_flags(void **state)
{
	(void)state;
	assert_flags("whence", 2, "SEEK_END");
	assert_flags("whence", 77, "77");
	assert_flags("dirfd", 5, "5");
	assert_flags("dirfd", (uint32_t)-1, "-1");
	assert_flags("access", 0, "F_OK");
	assert_flags("access", 6, "R_OK|W_OK");
	assert_flags("prot", 0, "PROT_NONE");
	assert_flags("prot", 0x80000001, "PROT_READ|0x80000000");
	assert_flags("at", 0, "0");
	assert_flags("wait", 0x40000001, "WNOHANG|__WALL");
	assert_flags("clone", 0x11, "SIGCHLD");
	assert_flags("clone", 0x4111, "CLONE_VM|CLONE_VFORK|SIGCHLD");
	assert_flags("futex", 0, "FUTEX_WAIT");
	assert_flags("futex", 0x81, "FUTEX_WAKE_PRIVATE");
	assert_flags("futex", 0x189, "FUTEX_WAIT_BITSET_PRIVATE|FUTEX_CLOCK_REALTIME");
	assert_flags("signal", 9, "SIGKILL");
	assert_flags("signal", 0, "0");
	assert_flags("family", 10, "AF_INET6");
	assert_flags("sock", 02000001, "SOCK_STREAM|SOCK_CLOEXEC");
	assert_null(callflags_find("no_such_kind", 12));
	assert_null(callflags_find("ope", 3));
	assert_null(callflags_find("", 0));
	assert_true(callflags_create(0100));
	assert_false(callflags_create(01));
}

/* Each kind that the list of calls names exists. */
static void test_kinds(void **state)
{
	static struct callnames tables[2];
	struct callarg args[CALLARGS_MAX], result;
	unsigned int seen = 0;

	(void)state;
	callnames_init(&tables[0]);
	callnames_init_compat(&tables[1]);
	for (size_t i = 0; i < 2 * CALLNAMES_NUMBERS; i++) {
		const uint8_t texts = tables[i / CALLNAMES_NUMBERS].texts[i % CALLNAMES_NUMBERS];
		const char *text = tables[i / CALLNAMES_NUMBERS].args[i % CALLNAMES_NUMBERS];
		size_t count = text ? callargs_parse(text, args, &result) : 0;

		for (size_t j = 0; j < count; j++) {
			const char *kind = args[j].name + args[j].name_bytes;

			assert_true(args[j].name_bytes > 0);
			if (args[j].kind == CALLARG_HEX)
				assert_memory_equal(kind, ":x", 2);
			if (args[j].kind == CALLARG_CREATE_MODE)
				assert_true(j > 0 && args[j - 1].kind == CALLARG_FLAGS);
			/* the length is behind it, and the call has no texts */
			if (args[j].kind == CALLARG_SOCKET_ADDRESS)
				assert_true(j + 1 < count && args[j + 1].kind == CALLARG_INT);
			assert_false(args[j].kind == CALLARG_TEXT && texts & CALLNAMES_ADDRESS);
			seen++;
		}
	}
	assert_true(seen > 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_32_bit_calls),
		cmocka_unit_test(test_damaged_texts),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_bounds_of_addresses),
		cmocka_unit_test(test_flags),
		cmocka_unit_test(test_kinds),
	};

	return cmocka_run_group_tests_name("calltext", tests, NULL, NULL);
}
