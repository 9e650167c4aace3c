/* SPDX-License-Identifier: MIT */
/*
 * The files of a profiler in the directory of state=: see profiler.h and disk.h. The capture writes its
 * blocks there itself. Here is the journal: the header is written by the control thread when it changes,
 * tasks by the sampler before the samples that need them.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/units.h"
#include "prof/disk_journal.h"
#include "prof/profiler_state.h"
#include "prof/varint.h"

struct kept {
	pthread_mutex_t lock; /* the drain lock is taken before it, those of tasks and records after it */
	/* all below under lock */
	struct disk_journal *journal;
	struct record_buf header;
	GByteArray *events;
	uint64_t tasks_stamp;
	bool other_boot; /* what is held was captured before this machine was booted */
};

/* ---- writing --------------------------------------------------------------------------------- */

static struct disk_journal_part part_of(enum disk_part kind, const uint8_t *data, size_t len)
{
	return (struct disk_journal_part){ .kind = kind, .len = (uint32_t)len, .data = data };
}

/* Under the lock. */
static void write_all(struct profiler *p, struct kept *kept)
{
	static const uint8_t other_boot[KPROF_HOST_ID_BYTES];
	struct disk_journal_part parts[4];
	struct record_buf tasks;
	guint count = 0;

	record_buf_init(&tasks);
	kept->tasks_stamp = tasks_encode(p->tasks, 0, &tasks);
	parts[count++] = part_of(DISK_PART_BOOT, kept->other_boot ? other_boot : p->host.boot_id,
		KPROF_HOST_ID_BYTES);
	parts[count++] = part_of(DISK_PART_EVENTS, kept->events->data, kept->events->len);
	if (profiler_is_loaded(p)) {
		parts[count++] = part_of(DISK_PART_LOADED, NULL, 0);
	} else {
		parts[count++] = part_of(DISK_PART_RECORDS, kept->header.data, kept->header.used);
		parts[count++] = part_of(DISK_PART_RECORDS, tasks.data, tasks.used);
	}
	disk_journal_write(kept->journal, parts, count);
	record_buf_fini(&tasks);
}

/* The size of a row first, so that another build's rows are not taken for these. */
static void encode_events(struct profiler *p, GByteArray *events)
{
	const uint32_t size = sizeof(struct known_event);

	g_byte_array_set_size(events, 0);
	g_byte_array_append(events, (const guint8 *)&size, sizeof(size));
	pthread_mutex_lock(&p->lock);
	if (p->known->len)
		g_byte_array_append(events, (const guint8 *)p->known->data, p->known->len * size);
	pthread_mutex_unlock(&p->lock);
}

void profiler_keep_header(struct profiler *p)
{
	struct kept *kept = p->kept;
	GByteArray *events;
	struct record_buf header;

	if (!kept)
		return;
	events = g_byte_array_new();
	record_buf_init(&header);
	encode_events(p, events);
	cursor_encode_header(p, &header);
	if (!p->run)
		profiler_times_encode(p, &header);
	pthread_mutex_lock(&kept->lock);
	record_buf_fini(&kept->header);
	kept->header = header;
	g_byte_array_unref(kept->events);
	kept->events = events;
	kept->other_boot = atomic_read_relaxed(&p->saved_other_boot);
	write_all(p, kept);
	pthread_mutex_unlock(&kept->lock);
}

void profiler_keep_tasks(struct profiler *p)
{
	struct kept *kept = p->kept;
	struct disk_journal_part part;
	struct record_buf tasks;

	if (!kept)
		return;
	pthread_mutex_lock(&kept->lock);
	if (disk_journal_is_due(kept->journal)) {
		write_all(p, kept);
	} else if (tasks_stamp(p->tasks) != kept->tasks_stamp) {
		record_buf_init(&tasks);
		kept->tasks_stamp = tasks_encode(p->tasks, kept->tasks_stamp, &tasks);
		part = part_of(DISK_PART_RECORDS, tasks.data, tasks.used);
		if (tasks.used)
			disk_journal_append(kept->journal, &part);
		record_buf_fini(&tasks);
	}
	pthread_mutex_unlock(&kept->lock);
}

void profiler_keep_files(struct profiler *p, struct disk *disk, const char *session)
{
	struct kept *kept = g_new0(struct kept, 1);

	pthread_mutex_init(&kept->lock, NULL);
	kept->journal = disk_journal_create(disk, session);
	kept->events = g_byte_array_new();
	record_buf_init(&kept->header);
	p->kept = kept;
	/* the journal first: the index refers to what is in it */
	profiler_keep_header(p);
	if (capture_keep_files(p->capture, disk, session))
		return;
	/* what was read is not removed with the capture; a new session has no index yet */
	if (disk_set_aside(disk, "index", session))
		disk_set_aside(disk, "journal", session);
}

void profiler_forget_files(struct profiler *p)
{
	capture_forget_files(p->capture);
}

void profiler_free_kept(struct kept *kept)
{
	if (!kept)
		return;
	disk_journal_close(kept->journal);
	g_byte_array_unref(kept->events);
	record_buf_fini(&kept->header);
	pthread_mutex_destroy(&kept->lock);
	g_free(kept);
}

/* ---- reading --------------------------------------------------------------------------------- */

static void decode_events(const struct disk_journal_part *part, GArray *known)
{
	struct known_event row;
	uint32_t size, at;

	g_array_set_size(known, 0);
	if (part->len < sizeof(size))
		return;
	memcpy(&size, part->data, sizeof(size));
	if (size != sizeof(row))
		return;
	for (at = sizeof(size); part->len - at >= sizeof(row) && known->len < KNOWN_EVENTS_MAX;
		at += sizeof(row)) {
		memcpy(&row, part->data + at, sizeof(row));
		row.event.text[sizeof(row.event.text) - 1] = '\0';
		memset(&row.event.away, 0, sizeof(row.event.away));
		if ((unsigned int)row.scope >= SCOPE_COUNT)
			row.scope = SCOPE_MACHINE;
		/* what the kernel has counted ended with the process that had the events */
		row.due_unknown = true;
		row.count_unknown = true;
		g_array_append_val(known, row);
	}
}

/* One that an EVENT record describes. */
static void take_event(const uint8_t *payload, uint64_t size, GArray *known)
{
	struct known_event row = { .was_run = true, .due_unknown = true, .count_unknown = true };
	struct kprof_rec_event_configs configs = { 0 };
	struct kprof_rec_event head;
	const uint8_t *text = payload + sizeof(head), *end;

	if (size < sizeof(head))
		return;
	memcpy(&head, payload, sizeof(head));
	size -= sizeof(head);
	end = memchr(text, '\0', size);
	if (!end || !head.number || head.number > known->len + 1 || head.number > KNOWN_EVENTS_MAX)
		return;
	size -= (size_t)(end - text) + 1;
	if (size >= sizeof(configs))
		memcpy(&configs, end + 1, sizeof(configs));
	g_strlcpy(row.event.text, (const char *)text, sizeof(row.event.text));
	row.event.attr = (struct perf_event_attr){ .type = head.perf_type, .size = sizeof(row.event.attr),
		.config = head.config, .config1 = configs.config1, .config2 = configs.config2,
		.freq = (head.flags & KPROF_EVENT_FREQ) != 0, .sample_period = head.rate };
	row.event.flags = head.flags & ~(uint32_t)(KPROF_EVENT_SCOPE_USER | KPROF_EVENT_SCOPE_OWN);
	row.flags = head.flags;
	row.scope = head.flags & KPROF_EVENT_SCOPE_OWN ? SCOPE_OWN :
		head.flags & KPROF_EVENT_SCOPE_USER ? SCOPE_USER : SCOPE_MACHINE;
	if (head.number > known->len)
		g_array_append_val(known, row);
	else
		g_array_index(known, struct known_event, head.number - 1) = row;
}

/* Another build wrote the rows of the events: their records say the same. */
static void take_events(const struct record_buf *preamble, GArray *known)
{
	size_t at = 0;

	while (at < preamble->used) {
		uint64_t type, size;
		const uint8_t *payload = varint_get(varint_get(preamble->data + at, &type), &size);

		if (type == KPROF_REC_EVENT)
			take_event(payload, size, known);
		at = (size_t)(payload - preamble->data) + size;
	}
}

/* Samples whose events were lost keep the numbers: another event must not get one of them. */
static void pad_events(struct capture *capture, GArray *known)
{
	const struct known_event unknown = { .event = { .text = "unknown" }, .due_unknown = true,
		.count_unknown = true };
	struct tally totals;
	uint32_t last = 0;

	tally_init(&totals);
	capture_get_totals(capture, &totals);
	for (size_t i = 0; i < totals.count; i++)
		last = MAX(last, MIN(totals.rows[i].event, KNOWN_EVENTS_MAX));
	tally_fini(&totals);
	while (known->len < last)
		g_array_append_val(known, unknown);
}

static void take_parts(const GArray *parts, const uint8_t *boot_id, struct profiler_image *image)
{
	image->other_boot = true;
	for (guint i = 0; i < parts->len; i++) {
		const struct disk_journal_part *part = &g_array_index(parts, struct disk_journal_part, i);

		if (part->kind == DISK_PART_BOOT && part->len == KPROF_HOST_ID_BYTES)
			image->other_boot = memcmp(part->data, boot_id, KPROF_HOST_ID_BYTES) != 0;
		else if (part->kind == DISK_PART_EVENTS)
			decode_events(part, image->known);
		else if (part->kind == DISK_PART_LOADED)
			image->is_loaded = true;
		else if (part->kind == DISK_PART_RECORDS && record_are_whole(part->data, part->len))
			record_append(&image->preamble, part->data, part->len);
	}
	if (!image->known->len)
		take_events(&image->preamble, image->known);
}

static void read_journal(struct disk *disk, const char *session, const uint8_t *boot_id,
	struct profiler_image *image)
{
	g_autofree char *file = disk_file_name("journal", session);
	enum disk_journal_end end;
	GArray *parts;
	GByteArray *content;
	int ret = disk_read(disk, file, DISK_JOURNAL_BYTES_MAX, &content);

	image->other_boot = true;
	if (ret && ret != -ENOENT) {
		disk_set_aside(disk, "journal", session);
		disk_count_damaged(disk, 1);
	}
	if (ret)
		return;
	parts = g_array_new(FALSE, FALSE, sizeof(struct disk_journal_part));
	end = disk_journal_parse(content->data, content->len, parts);
	disk_count_damaged(disk, end == DISK_JOURNAL_DAMAGED);
	disk_count_unfinished(disk, end == DISK_JOURNAL_UNFINISHED);
	take_parts(parts, boot_id, image);
	g_array_free(parts, TRUE);
	g_byte_array_unref(content);
}

/* Of one that was loaded its beginning must be there. */
static int read_capture(struct capture_pool *pool, struct disk *disk, const char *session,
	struct profiler_image *image)
{
	bool begins_loaded;
	int ret = capture_read_files(pool, session, &image->capture, &begins_loaded);

	if (ret)
		return ret;
	if (image->is_loaded && !begins_loaded && capture_held_bytes(image->capture)) {
		capture_clear(image->capture);
		disk_count_damaged(disk, 1);
	}
	image->is_loaded = begins_loaded;
	if (image->is_loaded) {
		image->other_boot = false; /* it has its own times, whatever they are */
		image->preamble.used = 0;
	}
	return capture_held_bytes(image->capture) ? 0 : -ENOENT;
}

/* Returns -ENOENT if nothing is held, or another error, which *err says. */
static int read_image(struct capture_pool *pool, struct disk *disk, const char *session,
	struct profiler_image *image, struct err *err)
{
	struct profiler described = { .paths.proc = NULL };
	int ret;

	profiler_describe_host(&described);
	read_journal(disk, session, described.host.boot_id, image);
	ret = read_capture(pool, disk, session, image);
	/* with it what describes its records, before another journal replaces it */
	if (ret && ret != -ENOENT)
		disk_set_aside(disk, "journal", session);
	if (ret == -EPROTO)
		err_set(err, EPROTO,
			"what it had captured was written by another version of kprofs, or is damaged");
	else if (ret && ret != -ENOENT)
		err_set(err, -ret, "what it had captured can't be read: %s", g_strerror(-ret));
	if (ret)
		return ret;
	pad_events(image->capture, image->known);
	image->has_settings = false;
	image->stacks_copied = image->has_wakers = true; /* perhaps */
	ret = profiler_image_take_memory(image, err);
	if (ret) {
		disk_set_aside(disk, "index", session);
		disk_set_aside(disk, "journal", session);
	}
	return ret;
}

int profiler_read_image(struct capture_pool *pool, struct disk *disk, const char *session,
	struct budget *budget, struct profiler_image **out, struct err *err)
{
	struct profiler_image *image = profiler_image_create(budget);
	const uint64_t before = disk_damaged(disk);
	int ret = read_image(pool, disk, session, image, err);
	const uint64_t damaged = disk_damaged(disk) - before;

	if ((!ret || ret == -ENOENT) && damaged)
		err_set(err, EIO, "damaged: %" PRIu64 " of its blocks and journals are left out", damaged);
	if (ret) {
		profiler_image_free(image);
		return ret;
	}
	*out = image;
	return 0;
}
