/* SPDX-License-Identifier: MIT */
/*
 * Decodes the bytes of kpdata: see decode.h.
 *
 * A window of bytes slides over the source: the caller's memory as a whole, a buffer that read(2)
 * fills, or a mapped piece of a sealed file. Heads are copied out of it by one table, which knows
 * the width of each field.
 */
#include "capture/decode.h"

#include <byteswap.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/memfile.h"

/*
 * One read(2): larger ones are not faster, and their data would not stay in a CPU's cache.
 */
#define BUFFER_BYTES (256u << 10)

/*
 * One mmap(2): its cost is small against that of decoding so many bytes. No more than this of the
 * file counts as memory of this process at a time.
 */
#define MAP_BYTES (1u << 20)

#define VARINT_MAX_BYTES 10
#define ENVELOPE_MAX_BYTES (2 * VARINT_MAX_BYTES)

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OUR_BYTE_ORDER KPROF_BYTE_ORDER_LITTLE
#define OTHER_BYTE_ORDER KPROF_BYTE_ORDER_BIG
#else
#define OUR_BYTE_ORDER KPROF_BYTE_ORDER_BIG
#define OTHER_BYTE_ORDER KPROF_BYTE_ORDER_LITTLE
#endif

enum decode_tail { TAIL_NONE, TAIL_TEXT, TAIL_FRAMES, TAIL_BYTES, TAIL_STACK, TAIL_DETAILS, TAIL_WAKER };

struct decode_layout {
	uint8_t head_bytes; /* 0 if there is no such type */
	enum decode_tail tail;
	const char *widths; /* bytes of each field of the head, a digit a field */
};

/* By type. */
static const struct decode_layout layouts[] = {
	[KPROF_REC_KERN_TRACE] = { sizeof(struct kprof_rec_trace), TAIL_FRAMES, "88422" },
	[KPROF_REC_USER_TRACE] = { sizeof(struct kprof_rec_trace), TAIL_FRAMES, "88422" },
	[KPROF_REC_MMAP] = { sizeof(struct kprof_rec_mmap), TAIL_TEXT, "88884" },
	[KPROF_REC_NEW_PROCESS] = { sizeof(struct kprof_rec_new_process), TAIL_TEXT, "84" },
	[KPROF_REC_EVENT] = { sizeof(struct kprof_rec_event), TAIL_TEXT, "44884" },
	[KPROF_REC_TASK] = { sizeof(struct kprof_rec_task), TAIL_NONE, "444" },
	[KPROF_REC_LOST] = { sizeof(struct kprof_rec_lost), TAIL_NONE, "4448" },
	[KPROF_REC_COMM] = { sizeof(struct kprof_rec_comm), TAIL_TEXT, "844" },
	[KPROF_REC_FORK] = { sizeof(struct kprof_rec_fork), TAIL_NONE, "84444" },
	[KPROF_REC_EXIT] = { sizeof(struct kprof_rec_fork), TAIL_NONE, "84444" },
	[KPROF_REC_BUILD_ID] = { sizeof(struct kprof_rec_build_id), TAIL_BYTES, "8481" },
	[KPROF_REC_CLOCK] = { sizeof(struct kprof_rec_clock), TAIL_TEXT, "884" },
	[KPROF_REC_THROTTLE] = { sizeof(struct kprof_rec_throttle), TAIL_NONE, "8444" },
	[KPROF_REC_PERIOD] = { sizeof(struct kprof_rec_period), TAIL_NONE, "448" },
	[KPROF_REC_KERNEL_MMAP] = { sizeof(struct kprof_rec_mmap), TAIL_TEXT, "88884" },
	[KPROF_REC_USER_STACK] = { sizeof(struct kprof_rec_user_stack), TAIL_STACK, "8422224" },
	[KPROF_REC_CPU_TIMES] = { sizeof(struct kprof_rec_cpu_times), TAIL_NONE, "88488888" },
	[KPROF_REC_FILE_ID] = { sizeof(struct kprof_rec_file_id), TAIL_DETAILS, "888444" },
	[KPROF_REC_AWAY] = { sizeof(struct kprof_rec_away), TAIL_WAKER, "8422884448" },
	/* single bytes: no byte order */
	[KPROF_REC_HOST] = { sizeof(struct kprof_rec_host), TAIL_TEXT, "" },
	[KPROF_REC_USER] = { sizeof(struct kprof_rec_user), TAIL_NONE, "844" },
};

static const struct decode_layout *find_layout(uint64_t type)
{
	if (type >= sizeof(layouts) / sizeof(layouts[0]) || !layouts[type].head_bytes)
		return NULL;
	return &layouts[type];
}

static uint64_t load_u64(const uint8_t *bytes, bool swap)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return swap ? bswap_64(value) : value;
}

static uint32_t load_u32(const uint8_t *bytes, bool swap)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return swap ? bswap_32(value) : value;
}

/* Swaps the bytes of each field of a head in place. */
static void swap_fields(uint8_t *head, const char *widths)
{
	for (; *widths; widths++) {
		unsigned int width = (unsigned int)(*widths - '0'), i;

		for (i = 0; i < width / 2; i++) {
			uint8_t byte = head[i];

			head[i] = head[width - 1 - i];
			head[width - 1 - i] = byte;
		}
		head += width;
	}
}

/* ---- the window ------------------------------------------------------------------------------ */

static void unmap_window(struct decoder *decoder)
{
	if (decoder->map)
		munmap(decoder->map, decoder->map_bytes);
	decoder->map = NULL;
}

void decode_init_memory(struct decoder *decoder, const void *data, size_t size)
{
	memset(decoder, 0, sizeof(*decoder));
	decoder->window = data;
	decoder->filled = size;
	decoder->fd = -1;
	decoder->ended = true;
}

void decode_init_fd(struct decoder *decoder, int fd)
{
	memset(decoder, 0, sizeof(*decoder));
	decoder->fd = fd;
	decoder->begin = lseek(fd, 0, SEEK_CUR);
	decoder->at = -1;
}

void decode_seal(int fd)
{
	(void)memfile_freeze(fd);
}

void decode_init_pread(struct decoder *decoder, int fd, off_t begin)
{
	struct stat st;

	memset(decoder, 0, sizeof(*decoder));
	decoder->fd = fd;
	decoder->begin = begin;
	decoder->at = begin;
	if (memfile_is_frozen(fd) && !fstat(fd, &st) && st.st_size > begin)
		decoder->map_end = st.st_size;
}

void decode_fini(struct decoder *decoder)
{
	free(decoder->buffer);
	decoder->buffer = NULL;
	unmap_window(decoder);
}

int decode_rewind(struct decoder *decoder)
{
	if (decoder->fd >= 0) {
		if (decoder->begin < 0)
			return -ESPIPE;
		if (decoder->at >= 0)
			decoder->at = decoder->begin;
		else if (lseek(decoder->fd, decoder->begin, SEEK_SET) < 0)
			return -errno;
		decoder->filled = 0;
		decoder->ended = false;
	}
	decoder->pos = 0;
	decoder->offset = 0;
	decoder->records = 0;
	decoder->unknown = 0;
	decoder->malformed = 0;
	decoder->swap = false;
	decoder->failed = 0;
	return 0;
}

/* Moves the rest of the window to the front of a buffer with room for `want` bytes. */
static int make_room(struct decoder *decoder, size_t want)
{
	size_t left = decoder->filled - decoder->pos;
	size_t capacity = want > BUFFER_BYTES ? want : BUFFER_BYTES;
	uint8_t *buffer = decoder->buffer;

	if (decoder->capacity < capacity) {
		buffer = malloc(capacity);
		if (!buffer)
			return -ENOMEM;
		if (left)
			memcpy(buffer, decoder->window + decoder->pos, left);
		free(decoder->buffer);
		decoder->buffer = buffer;
		decoder->capacity = capacity;
	} else {
		memmove(buffer, decoder->window + decoder->pos, left);
	}
	decoder->window = buffer;
	decoder->pos = 0;
	decoder->filled = left;
	return 0;
}

static ssize_t read_more(struct decoder *decoder)
{
	uint8_t *to = decoder->buffer + decoder->filled;
	size_t size = decoder->capacity - decoder->filled;
	ssize_t n;

	if (decoder->at < 0)
		return read(decoder->fd, to, size);
	n = pread(decoder->fd, to, size, decoder->at);
	if (n > 0)
		decoder->at += n;
	return n;
}

/* Maps the next piece of the file, from the page in which the rest of the window begins. */
static int map_window(struct decoder *decoder, size_t want)
{
	off_t from = decoder->at - (off_t)(decoder->filled - decoder->pos);
	size_t before = (size_t)from % (size_t)sysconf(_SC_PAGESIZE);
	off_t begin = from - (off_t)before;
	size_t bytes = before + (want > MAP_BYTES ? want : MAP_BYTES);
	void *map;

	if (bytes >= (uint64_t)(decoder->map_end - begin)) {
		bytes = (size_t)(decoder->map_end - begin);
		decoder->ended = true;
	}
	unmap_window(decoder);
	/* private: a shared one of a file sealed against writing is refused before Linux 6.7 */
	map = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, decoder->fd, begin);
	if (map == MAP_FAILED)
		return -errno;
	decoder->map = map;
	decoder->map_bytes = bytes;
	decoder->window = map;
	decoder->pos = before;
	decoder->filled = bytes;
	decoder->at = begin + (off_t)bytes;
	return 0;
}

static int read_window(struct decoder *decoder, size_t want)
{
	int ret;
	ssize_t n;

	if (decoder->map_end)
		return map_window(decoder, want);
	ret = make_room(decoder, want);
	if (ret)
		return ret;
	while (decoder->filled < want) {
		n = read_more(decoder);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			return -errno;
		if (n <= 0) {
			decoder->ended = true;
			break;
		}
		decoder->filled += (size_t)n;
	}
	return 0;
}

/* Reads until `want` bytes are in the window, or all that the source still has. */
static inline int fill_window(struct decoder *decoder, size_t want)
{
	if (decoder->ended || decoder->filled - decoder->pos >= want)
		return 0;
	return read_window(decoder, want);
}

/* ---- records --------------------------------------------------------------------------------- */

/* Returns the length of the varint, 0 if it continues after the end, or -1 if it is not valid. */
static int read_varint(const uint8_t *bytes, size_t size, uint64_t *value)
{
	uint64_t v = 0;
	size_t i;

	for (i = 0; i < VARINT_MAX_BYTES; i++) {
		if (i == size)
			return 0;
		/* the tenth byte has room for the 64th bit only */
		if (i == VARINT_MAX_BYTES - 1 && bytes[i] > 1)
			return -1;
		v |= (uint64_t)(bytes[i] & 0x7f) << (7 * i);
		if (!(bytes[i] & 0x80)) {
			*value = v;
			return (int)i + 1;
		}
	}
	return -1;
}

/* Ends the stream permanently; this and every further call returns -code. */
__attribute__((format(printf, 4, 5))) static int give_up(struct decoder *decoder, int code,
	struct err *err, const char *format, ...)
{
	char why[128];
	va_list ap;

	va_start(ap, format);
	vsnprintf(why, sizeof(why), format, ap);
	va_end(ap);
	decoder->failed =
		err_set(&decoder->failure, code, "offset %" PRIu64 ": %s", decoder->offset, why);
	if (err)
		*err = decoder->failure;
	return decoder->failed;
}

/* The envelope at the window's front: 1, 0 at the end, or a failure. */
static int read_envelope(struct decoder *decoder, struct decode_record *record, size_t *bytes,
	struct err *err)
{
	const uint8_t *at;
	uint64_t size;
	size_t left;
	int n, m, ret;

	ret = fill_window(decoder, ENVELOPE_MAX_BYTES);
	if (ret)
		return give_up(decoder, -ret, err, "can't be read: %s", strerror(-ret));
	left = decoder->filled - decoder->pos;
	if (!left)
		return 0;
	at = decoder->window + decoder->pos;
	/* nearly all: a type below 128, a size below 16384, which is below KPROF_REC_PAYLOAD_MAX */
	if (left > 2 && at[0] < 0x80 && at[0] && at[2] < 0x80) {
		record->type = at[0];
		record->size = at[1];
		*bytes = 2;
		if (at[1] & 0x80) {
			record->size = (at[1] & 0x7fu) | (uint32_t)at[2] << 7;
			*bytes = 3;
		}
		return 1;
	}
	n = read_varint(at, left, &record->type);
	if (n < 0 || (n > 0 && record->type == 0))
		return give_up(decoder, EPROTO, err, "no record begins here");
	m = n ? read_varint(at + n, left - (size_t)n, &size) : 0;
	if (m < 0 || (m > 0 && size > KPROF_REC_PAYLOAD_MAX))
		return give_up(decoder, EPROTO, err,
			"type %" PRIu64 " with an impossible size", record->type);
	if (!m)
		return give_up(decoder, ENODATA, err,
			"cut: %zu bytes of a record are left", left);
	record->size = (uint32_t)size;
	*bytes = (size_t)n + (size_t)m;
	return 1;
}

/*
 * Takes the byte order from a CLOCK record, which has it in that same order. -1 if it is not valid.
 */
static int set_byte_order(struct decoder *decoder, const uint8_t *payload)
{
	uint32_t raw = load_u32(payload + offsetof(struct kprof_rec_clock, byte_order), false);

	if (raw == OUR_BYTE_ORDER)
		decoder->swap = false;
	else if (bswap_32(raw) == OTHER_BYTE_ORDER)
		decoder->swap = true;
	else
		return -1;
	return 0;
}

static const char *name_event(const struct decode_record *record)
{
	const bool is_default = strcmp(record->text, DECODE_EVENT_DEFAULT) == 0;

	if (!is_default)
		return record->text;
	return record->event.flags & KPROF_EVENT_FALLBACK ? "cpu-clock" : "cycles";
}

/* Reads what records have after their string, if they are long enough. */
static void read_after_text(struct decode_record *record, const uint8_t *bytes, size_t size)
{
	if (record->type == KPROF_REC_CLOCK && size >= sizeof(record->writer_pid)) {
		record->writer_pid = load_u32(bytes, record->swap);
	} else if (record->type == KPROF_REC_EVENT) {
		const bool there = size >= sizeof(record->configs);

		record->event_name = name_event(record);
		record->configs.config1 = there ? load_u64(bytes, record->swap) : 0;
		record->configs.config2 = there ? load_u64(bytes + 8, record->swap) : 0;
	} else if (record->type == KPROF_REC_KERNEL_MMAP) {
		record->mmap.pid = KPROF_PID_KERNEL; /* a damaged capture may have another pid */
	}
}

/* Each of the numbers after the head of a FILE_ID may be missing. */
static void read_details(struct decode_record *record, const uint8_t *bytes, size_t size)
{
	uint64_t *to[] = { &record->file.generation, &record->file.size, &record->file.mtime_ns };
	size_t i;

	memset(&record->file, 0, sizeof(record->file));
	for (i = 0; i < sizeof(to) / sizeof(to[0]) && size / sizeof(uint64_t) > i; i++)
		*to[i] = load_u64(bytes + i * sizeof(uint64_t), record->swap);
}

/* Checks what follows the head. NULL, or why it is not valid. */
static const char *check_tail(
	struct decode_record *record, enum decode_tail tail, const uint8_t *bytes, size_t size)
{
	const uint8_t *end;

	switch (tail) {
	case TAIL_TEXT:
		end = memchr(bytes, '\0', size);
		if (!end)
			return "a string without an end";
		record->text = (const char *)bytes;
		read_after_text(record, end + 1, (size_t)(bytes + size - end) - 1);
		break;
	case TAIL_FRAMES:
		if (record->trace.num_traces > size / 8)
			return "more frames than its size has room for";
		record->bytes = bytes;
		break;
	case TAIL_BYTES:
		if (record->build_id.length > size || record->build_id.length > KPROF_BUILD_ID_MAX)
			return "a build-id longer than there is room for";
		record->bytes = bytes;
		break;
	case TAIL_STACK:
		if (record->user_stack.size > size ||
			record->user_stack.num_regs > (size - record->user_stack.size) / 8)
			return "a longer stack than its size has room for";
		record->bytes = bytes;
		break;
	case TAIL_WAKER:
		end = memchr(bytes, '\0', size);
		if (!end || record->away.num_traces > (size_t)(bytes + size - end - 1) / 8)
			return "a name without an end, or more frames than its size has room for";
		record->text = (const char *)bytes;
		record->bytes = end + 1;
		break;
	case TAIL_DETAILS:
		read_details(record, bytes, size);
		break;
	case TAIL_NONE:
		break;
	}
	return NULL;
}

/* Decodes the payload, at which `room` bytes may be read. NULL, or why it is not valid. */
static const char *read_payload(struct decoder *decoder, struct decode_record *record, size_t room)
{
	const struct decode_layout *layout = find_layout(record->type);

	record->known = layout != NULL;
	record->text = NULL;
	record->event_name = NULL;
	record->bytes = NULL;
	record->writer_pid = 0;
	if (!layout)
		return NULL;
	if (record->size < layout->head_bytes)
		return "too few bytes for its fields";
	if (record->type == KPROF_REC_CLOCK && set_byte_order(decoder, record->payload) < 0)
		return "a byte order that does not exist";
	record->swap = decoder->swap;
	/* a copy of constant size is faster; it may include bytes of the next record */
	if (room >= sizeof(record->head))
		memcpy(record->head, record->payload, sizeof(record->head));
	else
		memcpy(record->head, record->payload, layout->head_bytes);
	if (record->swap)
		swap_fields(record->head, layout->widths);
	return check_tail(record, layout->tail, record->payload + layout->head_bytes,
		record->size - layout->head_bytes);
}

int decode_next(struct decoder *decoder, struct decode_record *record, struct err *err)
{
	size_t envelope = 0, left;
	const char *why;
	int ret;

	if (decoder->failed) {
		if (err)
			*err = decoder->failure;
		return decoder->failed;
	}
	record->offset = decoder->offset;
	ret = read_envelope(decoder, record, &envelope, err);
	if (ret <= 0)
		return ret;
	ret = fill_window(decoder, envelope + record->size);
	if (ret)
		return give_up(decoder, -ret, err, "can't be read: %s", strerror(-ret));
	left = decoder->filled - decoder->pos;
	if (left < envelope + record->size)
		return give_up(decoder, ENODATA, err,
			"cut: %zu bytes of a record are left", left);
	record->payload = decoder->window + decoder->pos + envelope;
	why = read_payload(decoder, record, left - envelope);
	decoder->pos += envelope + record->size;
	decoder->offset += envelope + record->size;
	if (why) {
		decoder->malformed++;
		return err_set(err, EBADMSG, "offset %" PRIu64 ": type %" PRIu64 " with %s",
			record->offset, record->type, why);
	}
	if (record->known)
		decoder->records++;
	else
		decoder->unknown++;
	return 1;
}
