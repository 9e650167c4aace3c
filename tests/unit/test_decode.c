/* SPDX-License-Identifier: MIT */
/*
 * capture/decode and capture/dump: complete, cut and damaged bytes of kpdata are decoded or refused.
 * The first vectors are those of the description of Akaros's records, the others were made by hand
 * from the layout.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/fixtures/gen.h"
#include "capture/decode.h"
#include "capture/dump.h"

/* Blanks and bars between the digits are for the reader. */
static GByteArray *from_hex(const char *hex)
{
	GByteArray *bytes = g_byte_array_new();
	int high = -1;

	for (; *hex; hex++) {
		int digit = g_ascii_xdigit_value(*hex);
		guint8 byte;

		if (digit < 0)
			continue;
		if (high < 0) {
			high = digit;
			continue;
		}
		byte = (guint8)(high << 4 | digit);
		high = -1;
		g_byte_array_append(bytes, &byte, 1);
	}
	return bytes;
}

/* ---- one record: its line -------------------------------------------------------------------- */

struct line_row {
	int line;
	const char *hex;
	const char *text;
};

/* clang-format off */
static const struct line_row line_rows[] = {
	/* Akaros's types */
	{ __LINE__, "01 28 | 00 10 de c0 71 55 00 00 | cb 04 fb 71 1f 01 00 00 | ff ff ff ff | 03 00 | 02 00"
		"| 34 12 00 c2 ff ff ff ff | 78 56 00 c2 ff ff ff ff",
		"0 kern_trace time=1234567890123 event=93947055443968 pid=idle cpu=3 frames=2 "
		"trace=0xffffffffc2001234,0xffffffffc2005678" },
	{ __LINE__, "02 20 | 00 10 de c0 71 55 00 00 | 18 06 fb 71 1f 01 00 00 | 2a 00 00 00 | 01 00 | 01 00"
		"| 20 0b 40 00 00 00 00 00",
		"0 user_trace time=1234567890456 event=93947055443968 pid=42 cpu=1 frames=1 trace=0x400b20" },
	{ __LINE__, "03 2f | 65 07 fb 71 1f 01 00 00 | 00 00 40 00 00 00 00 00 | 00 30 00 00 00 00 00 00"
		"| 00 00 00 00 00 00 00 00 | 2a 00 00 00 | 2f 62 69 6e 2f 68 65 6c 6c 6f 00",
		"0 mmap time=1234567890789 pid=42 addr=0x400000 size=0x3000 offset=0x0 path=\"/bin/hello\"" },
	{ __LINE__, "04 17 | 37 08 fb 71 1f 01 00 00 | 2a 00 00 00 | 2f 62 69 6e 2f 68 65 6c 6c 6f 00",
		"0 new_process time=1234567890999 pid=42 path=\"/bin/hello\"" },
	/* ours */
	{ __LINE__, "40 20 | 02 00 00 00 | 01 00 00 00 | 03 00 00 00 00 00 00 00 | e7 03 00 00 00 00 00 00"
		"| 03 00 00 00 | 61 62 63 00",
		"0 event number=2 perf_type=1 config=0x3 rate=999 "
		"flags=freq,fallback text=\"abc\" config1=0x0 config2=0x0" },
	{ __LINE__, "40 1d | 01 00 00 00 | 04 00 00 00 | ff 00 00 00 00 00 00 00 | 01 00 00 00 00 00 00 00"
		"| 00 00 00 00 | 00",
		"0 event number=1 perf_type=4 config=0xff rate=1 "
		"flags=0x0 text=\"\" config1=0x0 config2=0x0" },
	{ __LINE__, "40 1d | 01 00 00 00 | 04 00 00 00 | ff 00 00 00 00 00 00 00 | 01 00 00 00 00 00 00 00"
		"| 7c 00 00 80 | 00",
		"0 event number=1 perf_type=4 config=0xff rate=1"
		" flags=scope_user,scope_own,offcpu,wall,0x80000040 text=\"\" config1=0x0 config2=0x0" },
	{ __LINE__, "40 2e | 01 00 00 00 | 04 00 00 00 | c6 01 00 00 00 00 00 00 | 01 00 00 00 00 00 00 00"
		"| 00 00 00 00 | 61 00 | 11 00 00 00 00 00 00 00 | 22 00 00 00 00 00 00 80",
		"0 event number=1 perf_type=4 config=0x1c6 rate=1"
		" flags=0x0 text=\"a\" config1=0x11 config2=0x8000000000000022" },
	/* cut in what it grew by: as one that has not grown */
	{ __LINE__, "40 2d | 01 00 00 00 | 04 00 00 00 | c6 01 00 00 00 00 00 00 | 01 00 00 00 00 00 00 00"
		"| 00 00 00 00 | 61 00 | 11 00 00 00 00 00 00 00 | 22 00 00 00 00 00 00",
		"0 event number=1 perf_type=4 config=0x1c6 rate=1"
		" flags=0x0 text=\"a\" config1=0x0 config2=0x0" },
	{ __LINE__, "41 0c | 03 00 00 00 | 2a 00 00 00 | 2b 00 00 00",
		"0 task cpu=3 pid=42 tid=43" },
	{ __LINE__, "42 14 | 01 00 00 00 | 02 00 00 00 | 03 00 00 00 | 00 01 00 00 00 00 00 00",
		"0 lost cpu=1 event=2 reason=overwrite count=256" },
	{ __LINE__, "42 14 | 01 00 00 00 | 02 00 00 00 | 63 00 00 00 | 01 00 00 00 00 00 00 00",
		"0 lost cpu=1 event=2 reason=99 count=1" },
	{ __LINE__, "43 15 | 0a 00 00 00 00 00 00 00 | 2a 00 00 00 | 2b 00 00 00 | 61 22 5c 0a 00",
		"0 comm time=10 pid=42 tid=43 name=\"a\\x22\\x5c\\x0a\"" },
	{ __LINE__, "44 18 | 0a 00 00 00 00 00 00 00 | 2a 00 00 00 | 2b 00 00 00 | 05 00 00 00 | 06 00 00 00",
		"0 fork time=10 pid=42 tid=43 parent_pid=5 parent_tid=6" },
	{ __LINE__, "45 18 | 0a 00 00 00 00 00 00 00 | 2a 00 00 00 | 2b 00 00 00 | 05 00 00 00 | 06 00 00 00",
		"0 exit time=10 pid=42 tid=43 parent_pid=5 parent_tid=6" },
	{ __LINE__, "46 18 | 0a 00 00 00 00 00 00 00 | ff ff ff ff | 00 00 00 81 ff ff ff ff | 03 | 0a bc 00",
		"0 build_id time=10 pid=kernel addr=0xffffffff81000000 id=0abc00" },
	{ __LINE__, "47 17 | 0a 00 00 00 00 00 00 00 | 00 ca 9a 3b 00 00 00 00 | 01 00 00 00 | 61 62 00",
		"0 clock time=10 wall=1000000000 byte_order=little name=\"ab\"" },
	{ __LINE__, "47 1b | 0a 00 00 00 00 00 00 00 | 00 ca 9a 3b 00 00 00 00 | 01 00 00 00 | 61 62 00"
		"| 39 05 00 00",
		"0 clock time=10 wall=1000000000 byte_order=little name=\"ab\" writer=1337" },
	{ __LINE__, "48 14 | 0a 00 00 00 00 00 00 00 | 02 00 00 00 | 01 00 00 00 | 01 00 00 00",
		"0 throttle time=10 cpu=2 event=1 throttled=1" },
	{ __LINE__, "49 10 | 02 00 00 00 | 01 00 00 00 | ff ff ff ff ff ff ff ff",
		"0 period cpu=2 event=1 period=18446744073709551615" },
	/*
	 * the kernel's mapping; a damaged one with another process; as type 3, which was used
	 * before 75
	 */
	{ __LINE__, "4b 28 | 00 00 00 00 00 00 00 00 | 00 00 00 81 ff ff ff ff | 00 00 00 01 00 00 00 00"
		"| 00 00 00 00 00 00 00 00 | ff ff ff ff | 5b 6b 5d 00",
		"0 kernel_mmap time=0 pid=kernel addr=0xffffffff81000000 size=0x1000000 offset=0x0 "
		"path=\"[k]\"" },
	{ __LINE__, "4b 28 | 00 00 00 00 00 00 00 00 | 00 00 00 81 ff ff ff ff | 00 00 00 01 00 00 00 00"
		"| 00 00 00 00 00 00 00 00 | 2a 00 00 00 | 5b 6b 5d 00",
		"0 kernel_mmap time=0 pid=kernel addr=0xffffffff81000000 size=0x1000000 offset=0x0 "
		"path=\"[k]\"" },
	{ __LINE__, "03 28 | 00 00 00 00 00 00 00 00 | 00 00 00 81 ff ff ff ff | 00 00 00 01 00 00 00 00"
		"| 00 00 00 00 00 00 00 00 | ff ff ff ff | 5b 6b 5d 00",
		"0 mmap time=0 pid=kernel addr=0xffffffff81000000 size=0x1000000 offset=0x0 path=\"[k]\"" },
	{ __LINE__, "4c 3c | 0a 00 00 00 00 00 00 00 | 00 10 40 00 00 00 00 00 | 07 00 00 00 00 00 00 00"
		"| 08 00 00 00 | 01 00 00 00 | 2a 00 00 00 | 02 00 00 00 00 00 00 00"
		"| 03 00 00 00 00 00 00 00 | 04 00 00 00 00 00 00 00",
		"0 file_id time=10 pid=42 addr=0x401000 dev=8:1 inode=7 generation=2 size=3 mtime=4" },
	/* what follows may be missing, or come in part */
	{ __LINE__, "4c 2f | 0a 00 00 00 00 00 00 00 | 00 10 40 00 00 00 00 00 | 07 00 00 00 00 00 00 00"
		"| 08 00 00 00 | 01 00 00 00 | 2a 00 00 00 | 02 00 00 00 00 00 00 00 | 03 00 00",
		"0 file_id time=10 pid=42 addr=0x401000 dev=8:1 inode=7 generation=2 size=0 mtime=0" },
	{ __LINE__, "4d 3c | 0a 00 00 00 00 00 00 00 | 05 00 00 00 00 00 00 00 | 03 00 00 00"
		"| 01 00 00 00 00 00 00 00 | 02 00 00 00 00 00 00 00 | 00 01 00 00 00 00 00 00"
		"| 04 00 00 00 00 00 00 00 | 05 00 00 00 00 00 00 00",
		"0 cpu_times time=10 since=5 cpu=3 irq=1 kern=2 user=256 idle=4 steal=5" },
	{ __LINE__, "4e 47 | 0a 00 00 00 00 00 00 00 | 2a 00 00 00 | 03 00 | 02 00"
		"| 01 00 00 00 00 00 00 00 | 09 00 00 00 00 00 00 00 | 02 00 00 00"
		"| 2b 00 00 00 | 2c 00 00 00 | 08 00 00 00 00 00 00 00 | 61 62 00"
		"| 01 00 00 00 00 00 00 80 | 02 00 00 00 00 00 00 00",
		"0 away time=10 pid=42 cpu=3 left=1 back=9 state=0x2 waker_pid=43 waker_tid=44 "
		"waker=\"ab\" woken=8 frames=2 trace=0x8000000000000001,0x2" },
	{ __LINE__, "4e 35 | 0a 00 00 00 00 00 00 00 | 2a 00 00 00 | 03 00 | 00 00"
		"| 01 00 00 00 00 00 00 00 | 09 00 00 00 00 00 00 00 | 00 00 00 00"
		"| fe ff ff ff | fe ff ff ff | 00 00 00 00 00 00 00 00 | 00",
		"0 away time=10 pid=42 cpu=3 left=1 back=9 state=0x0 waker_pid=gone waker_tid=4294967294 "
		"waker=\"\" woken=0 frames=0 trace=" },
	/* kernel and user frames; a task that had ended; no frames */
	{ __LINE__, "01 30 | 01 00 00 00 00 00 00 00 | 05 00 00 00 00 00 00 00 | fe ff ff ff | 00 00 | 03 00"
		"| 01 00 00 00 00 00 00 80 | 00 fe ff ff ff ff ff ff | 02 00 00 00 00 00 00 00",
		"0 kern_trace time=5 event=1 pid=gone cpu=0 frames=3 trace=0x8000000000000001,user,0x2" },
	{ __LINE__, "02 18 | 01 00 00 00 00 00 00 00 | 05 00 00 00 00 00 00 00 | 01 00 00 00 | 00 00 | 00 00",
		"0 user_trace time=5 event=1 pid=1 cpu=0 frames=0 trace=" },
	/* payloads that have grown */
	{ __LINE__, "41 0e | 03 00 00 00 | 2a 00 00 00 | 2b 00 00 00 | aa bb",
		"0 task cpu=3 pid=42 tid=43" },
	{ __LINE__, "04 0f | 37 08 00 00 00 00 00 00 | 2a 00 00 00 | 61 00 ff",
		"0 new_process time=2103 pid=42 path=\"a\"" },
	/* unknown types; sizes of two and three bytes of varint */
	{ __LINE__, "05 00", "0 unknown type=5 size=0" },
	{ __LINE__, "ac 02 03 | 01 02 03", "0 unknown type=300 size=3" },
	{ __LINE__, "ff ff ff ff ff ff ff ff ff 01 01 | 00", "0 unknown type=18446744073709551615 size=1" },
	{ __LINE__, "7f 80 00", "0 unknown type=127 size=0" },
};
/* clang-format on */

static void test_records_are_dumped_as_lines(void **state)
{
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(line_rows); i++) {
		g_autoptr(GByteArray) bytes = from_hex(line_rows[i].hex);
		GString *text = g_string_new(NULL);
		struct decode_record record;
		struct decoder decoder;
		int ret;

		decode_init_memory(&decoder, bytes->data, bytes->len);
		ret = decode_next(&decoder, &record, NULL);
		if (ret != 1)
			fail_msg("row of line %d: ret %d", line_rows[i].line, ret);
		dump_record(&record, text);
		if (text->str[text->len - 1] != '\n')
			fail_msg("row of line %d: no newline", line_rows[i].line);
		g_string_truncate(text, text->len - 1);
		if (strcmp(text->str, line_rows[i].text) != 0)
			fail_msg("row of line %d: %s", line_rows[i].line, text->str);
		if (decoder.offset != bytes->len || decode_next(&decoder, &record, NULL) != 0)
			fail_msg("row of line %d: not at the end", line_rows[i].line);
		g_string_free(text, TRUE);
		decode_fini(&decoder);
	}
}

/* ---- damage ---------------------------------------------------------------------------------- */

struct damage_row {
	int line;
	const char *hex; /* behind a record of 2 bytes, so at offset 2 */
	int ret;
	const char *why;
};

/* clang-format off */
static const struct damage_row damage_rows[] = {
	/* no records */
	{ __LINE__, "00 00", -EPROTO, "offset 2: no record begins here" },
	{ __LINE__, "ff ff ff ff ff ff ff ff ff 02 00", -EPROTO, "offset 2: no record begins here" },
	{ __LINE__, "80 80 80 80 80 80 80 80 80 80 01 00", -EPROTO, "offset 2: no record begins here" },
	{ __LINE__, "05 ff ff ff ff ff ff ff ff ff 7f", -EPROTO, "offset 2: type 5 with an impossible size" },
	/* 32 MiB and one byte; 32 MiB are only cut */
	{ __LINE__, "05 81 80 80 10", -EPROTO, "offset 2: type 5 with an impossible size" },
	{ __LINE__, "05 80 80 80 10 aa", -ENODATA, "offset 2: cut: 6 bytes of a record are left" },
	/* cut in the type, the size, the payload */
	{ __LINE__, "85", -ENODATA, "offset 2: cut: 1 bytes of a record are left" },
	{ __LINE__, "05", -ENODATA, "offset 2: cut: 1 bytes of a record are left" },
	{ __LINE__, "05 80", -ENODATA, "offset 2: cut: 2 bytes of a record are left" },
	{ __LINE__, "05 02 aa", -ENODATA, "offset 2: cut: 3 bytes of a record are left" },
	/* heads with a byte too few: 24, 36, 12, 28, 12, 20, 16, 24, 21, 20, 20, 16 are needed */
	{ __LINE__, "01 17 *23", -EBADMSG, "offset 2: type 1 with too few bytes for its fields" },
	{ __LINE__, "02 17 *23", -EBADMSG, "offset 2: type 2 with too few bytes for its fields" },
	{ __LINE__, "03 23 *35", -EBADMSG, "offset 2: type 3 with too few bytes for its fields" },
	{ __LINE__, "04 0b *11", -EBADMSG, "offset 2: type 4 with too few bytes for its fields" },
	{ __LINE__, "40 1b *27", -EBADMSG, "offset 2: type 64 with too few bytes for its fields" },
	{ __LINE__, "41 0b *11", -EBADMSG, "offset 2: type 65 with too few bytes for its fields" },
	{ __LINE__, "42 13 *19", -EBADMSG, "offset 2: type 66 with too few bytes for its fields" },
	{ __LINE__, "43 0f *15", -EBADMSG, "offset 2: type 67 with too few bytes for its fields" },
	{ __LINE__, "44 17 *23", -EBADMSG, "offset 2: type 68 with too few bytes for its fields" },
	{ __LINE__, "45 17 *23", -EBADMSG, "offset 2: type 69 with too few bytes for its fields" },
	{ __LINE__, "46 14 *20", -EBADMSG, "offset 2: type 70 with too few bytes for its fields" },
	{ __LINE__, "47 13 *19", -EBADMSG, "offset 2: type 71 with too few bytes for its fields" },
	{ __LINE__, "48 13 *19", -EBADMSG, "offset 2: type 72 with too few bytes for its fields" },
	{ __LINE__, "49 0f *15", -EBADMSG, "offset 2: type 73 with too few bytes for its fields" },
	{ __LINE__, "01 00", -EBADMSG, "offset 2: type 1 with too few bytes for its fields" },
	/* no room for what is behind the head */
	{ __LINE__, "03 24 *36", -EBADMSG, "offset 2: type 3 with a string without an end" },
	{ __LINE__, "04 0d *12 61", -EBADMSG, "offset 2: type 4 with a string without an end" },
	{ __LINE__, "01 1f *22 01 00 *7", -EBADMSG,
		"offset 2: type 1 with more frames than its size has room for" },
	{ __LINE__, "02 20 *22 ff ff *8", -EBADMSG,
		"offset 2: type 2 with more frames than its size has room for" },
	{ __LINE__, "46 16 *20 02 aa", -EBADMSG,
		"offset 2: type 70 with a build-id longer than there is room for" },
	{ __LINE__, "46 2a *20 15 *21", -EBADMSG,
		"offset 2: type 70 with a build-id longer than there is room for" },
	{ __LINE__, "47 15 *16 03 00 00 00 00", -EBADMSG,
		"offset 2: type 71 with a byte order that does not exist" },
};
/* clang-format on */

/* As from_hex(); *N is N zero bytes. */
static GByteArray *from_hex_with_zeros(const char *hex)
{
	g_auto(GStrv) words = g_strsplit(hex, " ", -1);
	GByteArray *bytes = g_byte_array_new();
	guint i;

	for (i = 0; words[i]; i++) {
		if (words[i][0] == '*') {
			guint old = bytes->len, count = (guint)atoi(words[i] + 1);

			g_byte_array_set_size(bytes, old + count);
			memset(bytes->data + old, 0, count);
		} else {
			g_autoptr(GByteArray) byte = from_hex(words[i]);

			g_byte_array_append(bytes, byte->data, byte->len);
		}
	}
	return bytes;
}

static void test_damage_is_reported_with_its_offset(void **state)
{
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(damage_rows); i++) {
		const struct damage_row *row = &damage_rows[i];
		g_autoptr(GByteArray) bytes = from_hex("06 00");
		g_autoptr(GByteArray) bad = from_hex_with_zeros(row->hex);
		struct decode_record record;
		struct decoder decoder;
		struct err err = { "" };
		int ret;

		g_byte_array_append(bytes, bad->data, bad->len);
		if (row->ret == -EBADMSG)
			g_byte_array_append(bytes, (const guint8 *)"\x07\x00", 2);
		decode_init_memory(&decoder, bytes->data, bytes->len);
		if (decode_next(&decoder, &record, &err) != 1 || record.type != 6)
			fail_msg("row of line %d: the record before", row->line);
		ret = decode_next(&decoder, &record, &err);
		if (ret != row->ret || strcmp(err.text, row->why) != 0)
			fail_msg("row of line %d: ret %d, %s", row->line, ret, err.text);
		ret = decode_next(&decoder, &record, &err);
		if (row->ret == -EBADMSG && (ret != 1 || record.type != 7))
			fail_msg("row of line %d: the record behind", row->line);
		if (row->ret != -EBADMSG && (ret != row->ret || strcmp(err.text, row->why) != 0))
			fail_msg("row of line %d: not sticky: %d, %s", row->line, ret, err.text);
		if (decoder.malformed != (row->ret == -EBADMSG))
			fail_msg("row of line %d: malformed", row->line);
		decode_fini(&decoder);
	}
}

/* ---- streams --------------------------------------------------------------------------------- */

#define STREAM_RECORDS 14

/* One of each type. */
static void make_stream(struct gen *gen)
{
	uint64_t frames[] = { 0xffffffff81000010, GEN_USER, 0x400010 };

	gen_clock(gen, 1, 2);
	gen_event(gen, 1, 999, 1, "cpu-clock:freq=999");
	gen_mmap(gen, 3, 42, 0x400000, 0x1000, 0x2000, "/bin/a");
	gen_build_id(gen, 4, 42, 0x400000, "\1\2\3\4", 4);
	gen_new_process(gen, 5, 42, "/bin/a");
	gen_comm(gen, 6, 42, 42, "a");
	gen_fork(gen, 7, 43, 43, 42, 42);
	gen_exit(gen, 8, 43, 43, 42, 42);
	gen_task(gen, 1, 42, 44);
	gen_period(gen, 1, 1, 1001001);
	gen_trace(gen, 1, 1, 9, 42, 1, 3, frames);
	gen_trace(gen, 2, 1, 10, 42, 1, 1, frames + 2);
	gen_throttle(gen, 11, 1, 1, 1);
	gen_lost(gen, 1, 1, 2, 77);
}

/* The same, and behind it a record of an unknown type, of i times 2 MiB and a little. */
static void make_large_stream(struct gen *gen, int i)
{
	make_stream(gen);
	gen_begin(gen);
	g_byte_array_set_size(gen->payload, (guint)i * (2u << 20) + 100);
	memset(gen->payload->data, i, gen->payload->len);
	gen_end(gen, 99);
}

/* The lines of all records, and how the stream ended. */
static char *dump_all(struct decoder *decoder, int *ret)
{
	GString *text = g_string_new(NULL);
	struct decode_record record;

	while ((*ret = decode_next(decoder, &record, NULL)) > 0)
		dump_record(&record, text);
	return g_string_free(text, FALSE);
}

/* Every prefix of a stream is the records that are whole in it, and a cut unless one just ended. */
static void test_cut_stream_gives_its_whole_records(void **state)
{
	struct gen gen;
	guint ends[STREAM_RECORDS + 1] = { 0 }, count = 0, length;
	struct decode_record record;
	struct decoder decoder;

	gen_init(&gen, false);
	make_stream(&gen);
	decode_init_memory(&decoder, gen.bytes->data, gen.bytes->len);
	while (decode_next(&decoder, &record, NULL) > 0) {
		assert_true(count < STREAM_RECORDS);
		assert_int_equal(record.offset, ends[count]);
		ends[++count] = (guint)decoder.offset;
	}
	assert_int_equal(count, STREAM_RECORDS);
	assert_int_equal(ends[STREAM_RECORDS], gen.bytes->len);
	decode_fini(&decoder);
	for (length = 0, count = 0; length <= gen.bytes->len; length++) {
		/* a copy of exactly this length, so that valgrind detects a read beyond it */
		uint8_t *copy = g_memdup2(gen.bytes->data, length);
		guint n = 0;
		int ret;

		while (count < STREAM_RECORDS && ends[count + 1] <= length)
			count++;
		decode_init_memory(&decoder, copy, length);
		while ((ret = decode_next(&decoder, &record, NULL)) > 0)
			n++;
		assert_int_equal(n, count);
		assert_int_equal(ret, length == ends[count] ? 0 : -ENODATA);
		assert_int_equal(decoder.offset, ends[count]);
		decode_fini(&decoder);
		g_free(copy);
	}
	gen_fini(&gen);
}

/* A stream in the other byte order decodes to the same lines. */
static void test_other_byte_order_decodes_the_same(void **state)
{
	struct gen little, big;
	struct decoder decoder;
	g_autofree char *a = NULL, *b = NULL;
	char *order;
	int ret;

	gen_init(&little, false);
	gen_init(&big, true);
	make_stream(&little);
	make_stream(&big);
	assert_memory_not_equal(little.bytes->data, big.bytes->data, little.bytes->len);
	decode_init_memory(&decoder, little.bytes->data, little.bytes->len);
	a = dump_all(&decoder, &ret);
	assert_int_equal(ret, 0);
	decode_init_memory(&decoder, big.bytes->data, big.bytes->len);
	b = dump_all(&decoder, &ret);
	assert_int_equal(ret, 0);
	order = strstr(b, "byte_order=big");
	assert_non_null(order);
	/* only the byte order may differ */
	assert_int_equal(order - b, strstr(a, "byte_order=little") - a);
	assert_memory_equal(a, b, (size_t)(order - b));
	assert_string_equal(order + strlen("byte_order=big"),
		strstr(a, "byte_order=little") + strlen("byte_order=little"));
	gen_fini(&little);
	gen_fini(&big);
}

static int open_temporary(const GByteArray *bytes)
{
	char path[] = "/tmp/test_decode.XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	unlink(path);
	assert_int_equal(write(fd, bytes->data, bytes->len), bytes->len);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

/* A file gives what memory gives, twice, also with records larger than the buffer. */
static void test_file_decodes_like_memory(void **state)
{
	g_autofree char *expected = NULL, *first = NULL, *second = NULL;
	struct decoder decoder;
	struct gen gen;
	int fd, ret, i;

	gen_init(&gen, false);
	gen_task(&gen, 1, 42, 44);
	/* from here on in the other byte order; the second time it begins as the first */
	gen.big_endian = true;
	for (i = 0; i < 3; i++)
		make_large_stream(&gen, i);
	make_stream(&gen);
	decode_init_memory(&decoder, gen.bytes->data, gen.bytes->len);
	expected = dump_all(&decoder, &ret);
	assert_int_equal(ret, 0);
	assert_int_equal(decoder.records, 1 + 4 * STREAM_RECORDS);
	assert_ptr_equal(strstr(expected, "0 task cpu=1 pid=42 tid=44\n"), expected);
	assert_int_equal(decoder.unknown, 3);
	fd = open_temporary(gen.bytes);
	decode_init_fd(&decoder, fd);
	first = dump_all(&decoder, &ret);
	assert_int_equal(ret, 0);
	assert_string_equal(first, expected);
	assert_int_equal(decode_rewind(&decoder), 0);
	assert_int_equal(decoder.records, 0);
	second = dump_all(&decoder, &ret);
	assert_int_equal(ret, 0);
	assert_string_equal(second, expected);
	decode_fini(&decoder);
	close(fd);
	gen_fini(&gen);
}

/* A pipe gives its bytes in pieces, here one by one, and can't be rewound. */
static void test_pipe_decodes_byte_by_byte(void **state)
{
	g_autofree char *expected = NULL;
	GString *text = g_string_new(NULL);
	struct decode_record record;
	struct decoder decoder;
	struct gen gen;
	int fds[2], ret;
	guint i;

	gen_init(&gen, false);
	make_stream(&gen);
	decode_init_memory(&decoder, gen.bytes->data, gen.bytes->len);
	expected = dump_all(&decoder, &ret);
	assert_int_equal(pipe(fds), 0);
	decode_init_fd(&decoder, fds[0]);
	assert_int_equal(decode_rewind(&decoder), -ESPIPE);
	/* the writer's end stays open: only the bytes that are in the pipe may be read */
	assert_int_equal(fcntl(fds[0], F_SETFL, O_NONBLOCK), 0);
	for (i = 0; i < gen.bytes->len; i++)
		assert_int_equal(write(fds[1], gen.bytes->data + i, 1), 1);
	while ((ret = decode_next(&decoder, &record, NULL)) > 0)
		dump_record(&record, text);
	assert_int_equal(ret, 0); /* EAGAIN is the end */
	assert_string_equal(text->str, expected);
	g_string_free(text, TRUE);
	decode_fini(&decoder);
	close(fds[0]);
	close(fds[1]);
	gen_fini(&gen);
}

/* A memfd with some bytes before the stream. */
static int open_memfd(const GByteArray *bytes, size_t before, size_t length)
{
	int fd = memfd_create("capture", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)before), 0);
	assert_int_equal(pwrite(fd, bytes->data, length, (off_t)before), length);
	return fd;
}

/*
 * A sealed file is mapped in pieces, which end anywhere in a record, and which a record may be
 * larger than; one that could still be cut or written is read.
 */
static void test_sealed_file_is_mapped_in_pieces(void **state)
{
	g_autofree char *expected = NULL;
	const size_t before = 5000; /* no page begins there */
	static const size_t missing[] = { 1, 12, 13 }; /* of 14: of the payload, all of it, and its size */
	struct decode_record record;
	struct decoder decoder;
	struct gen gen;
	int fd, ret, sealed, i;

	gen_init(&gen, false);
	for (i = 0; i < 3; i++)
		make_large_stream(&gen, i);
	for (i = 0; i < 80000; i++) /* 1 MiB: pieces end among small ones, too */
		gen_task(&gen, 1, (uint32_t)i, (uint32_t)i);
	decode_init_memory(&decoder, gen.bytes->data, gen.bytes->len);
	expected = dump_all(&decoder, &ret);
	assert_int_equal(ret, 0);
	for (sealed = 0; sealed < 2; sealed++) {
		fd = open_memfd(gen.bytes, before, gen.bytes->len);
		if (sealed)
			decode_seal(fd);
		decode_init_pread(&decoder, fd, (off_t)before);
		for (i = 0; i < 2; i++) {
			g_autofree char *text = dump_all(&decoder, &ret);

			assert_int_equal(ret, 0);
			assert_string_equal(text, expected);
			assert_int_equal(decoder.offset, gen.bytes->len);
			assert_int_equal(decoder.map != NULL, sealed);
			assert_int_equal(decode_rewind(&decoder), 0);
		}
		decode_fini(&decoder);
		close(fd);
	}
	for (i = 0; i < (int)G_N_ELEMENTS(missing); i++) {
		fd = open_memfd(gen.bytes, before, gen.bytes->len - missing[i]);
		decode_seal(fd);
		decode_init_pread(&decoder, fd, (off_t)before);
		while ((ret = decode_next(&decoder, &record, NULL)) > 0)
			;
		assert_int_equal(ret, -ENODATA);
		assert_int_equal(decoder.offset, gen.bytes->len - 14);
		decode_fini(&decoder);
		close(fd);
	}
	gen_fini(&gen);
}

static void test_read_error_is_reported(void **state)
{
	struct decode_record record;
	struct decoder decoder;
	struct err err;
	int fd = open("/", O_RDONLY | O_DIRECTORY);

	assert_true(fd >= 0);
	decode_init_fd(&decoder, fd);
	assert_int_equal(decode_next(&decoder, &record, &err), -EISDIR);
	assert_string_equal(err.text, "offset 0: can't be read: Is a directory");
	decode_fini(&decoder);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records_are_dumped_as_lines),
		cmocka_unit_test(test_damage_is_reported_with_its_offset),
		cmocka_unit_test(test_cut_stream_gives_its_whole_records),
		cmocka_unit_test(test_other_byte_order_decodes_the_same),
		cmocka_unit_test(test_file_decodes_like_memory),
		cmocka_unit_test(test_pipe_decodes_byte_by_byte),
		cmocka_unit_test(test_sealed_file_is_mapped_in_pieces),
		cmocka_unit_test(test_read_error_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
