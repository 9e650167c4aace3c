/* SPDX-License-Identifier: MIT */
/*
 * load: a copy of kpdata, or several one behind the other, that is written to it becomes the capture of the
 * session, from which all its views are made.
 *
 * What is written is checked as it comes, and stored in an unnamed file: it may be of any origin.
 * Only root and the user who mounted may: files that a capture names are read with the rights of that user.
 * When a descriptor is closed and all records are whole, they replace what the session holds. Writes and
 * closes are carried out by the control thread.
 */
#include "fs/file.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fdio.h"
#include "base/units.h"
#include "capture/decode.h"
#include "fs/content.h"
#include "fs/session.h"
#include "prof/profiler.h"
#include "sys/memfile.h"

/*
 * What is written is stored unpacked until it is closed, so it is bounded: by this many times prof_qlimit.
 * Whether it fits then is a matter of its size in the capture, which packs.
 */
#define UNPACKED_TIMES 8u
/* A record with its type and size fits into one run of the capture. */
#define PAYLOAD_MAX (CAPTURE_RUN_MAX - 32)

struct load {
	struct session *session;
	int fd;		  /* what was written; or -errno */
	uint64_t size;	  /* bytes of it */
	uint64_t checked; /* of these, whole records */
	uint64_t loaded;  /* of these, bytes that are the session's capture */
	int failed;	  /* 0, or -errno: a record is refused, and nothing behind it is taken */
	struct err why;
};

static void *open_load(struct session *session, const struct dirtab_row *row)
{
	struct load *load = g_new0(struct load, 1);

	(void)row;
	load->session = session;
	load->fd = memfile_create("load");
	return load;
}

static void close_load(void *writer)
{
	struct load *load = writer;

	if (load->fd >= 0)
		close(load->fd);
	g_free(load);
}

/* ---- checks ----------------------------------------------------------------------------------- */

static int check_record(const struct decode_record *r, uint64_t offset, struct err *err)
{
	if (!offset && r->type != KPROF_REC_CLOCK)
		return err_set(err, EINVAL,
			"this is no copy of kpdata: it does not begin with a CLOCK record");
	if (r->type == KPROF_REC_CLOCK && r->swap)
		return err_set(err, EINVAL, "offset %" PRIu64 ": the byte order of another machine", offset);
	if (r->size > PAYLOAD_MAX)
		return err_set(err, EFBIG, "offset %" PRIu64 ": a record of %" PRIu32 " bytes", offset,
			r->size);
	return 0;
}

/* Replaces the offset in the decoder's sentence, which counts from where decoding began. */
static int refuse_damage(uint64_t offset, const struct err *why, struct err *err)
{
	const char *reason = strstr(why->text, ": ");

	if (!offset)
		return err_set(err, EINVAL, "this is no copy of kpdata");
	return err_set(err, EINVAL, "offset %" PRIu64 "%s", offset, reason ? reason : "");
}

/* Whether the bytes of the first record that have arrived can't be the beginning of a CLOCK record. */
static bool begins_wrong(const struct load *load)
{
	uint8_t type;

	return !load->checked && pread(load->fd, &type, 1, 0) == 1 && type != KPROF_REC_CLOCK;
}

/* Checks the records from `checked` on, as far as they are whole. */
static int check_new(struct load *load, struct err *err)
{
	const uint64_t begin = load->checked;
	struct decode_record record;
	struct decoder decoder;
	struct err why;
	int ret, failed = 0;

	decode_init_pread(&decoder, load->fd, (off_t)begin);
	while (!failed && (ret = decode_next(&decoder, &record, &why)) > 0) {
		failed = check_record(&record, load->checked, err);
		if (!failed)
			load->checked = begin + decoder.offset;
	}
	decode_fini(&decoder);
	if (failed || ret == 0)
		return failed;
	if (begins_wrong(load))
		return refuse_damage(0, &why, err);
	if (ret == -ENODATA)
		return 0; /* the rest of a record is still to come */
	if (ret == -ENOMEM)
		return err_set(err, ENOMEM, "%s", why.text);
	return refuse_damage(load->checked, &why, err);
}

/* ---- writes ----------------------------------------------------------------------------------- */

static int take(struct load *load, const char *data, size_t size, struct err *err)
{
	const uint64_t max = profiler_capacity(load->session->profiler) * UNPACKED_TIMES;
	int ret;

	if (load->fd < 0)
		return err_set(err, -load->fd, "%s", strerror(-load->fd));
	if (profiler_running(load->session->profiler))
		return err_set(err, EBUSY, "not while the profiler runs: stop it first");
	if (size > max || load->size > max - size)
		return err_set(err, ENOSPC, "it has more than %" PRIu64 " KiB, %u times prof_qlimit",
			(uint64_t)(max / KIB), UNPACKED_TIMES);
	ret = fdio_write(load->fd, data, size);
	if (ret)
		return err_set(err, -ret, "%s", strerror(-ret));
	load->size += size;
	return check_new(load, err);
}

static int write_load(void *writer, const char *data, size_t size, struct err *err)
{
	struct load *load = writer;

	if (!load->failed)
		load->failed = take(load, data, size, &load->why);
	if (load->failed)
		*err = load->why;
	return load->failed;
}

static int flush_load(void *writer, struct err *err)
{
	struct load *load = writer;
	void *records;
	int ret;

	if (load->failed) {
		*err = load->why;
		return load->failed;
	}
	if (load->size == load->loaded)
		return 0; /* nothing is new: another descriptor of the same open file was closed */
	if (load->checked != load->size)
		return err_set(err, EINVAL, "cut: %" PRIu64 " bytes of a record are left",
			load->size - load->checked);
	records = mmap(NULL, load->size, PROT_READ, MAP_SHARED, load->fd, 0);
	if (records == MAP_FAILED)
		return err_set(err, errno, "%s", strerror(errno));
	ret = profiler_load(load->session->profiler, records, load->size, err);
	munmap(records, load->size);
	if (!ret)
		load->loaded = load->size;
	return ret;
}

const struct writer_ops file_load_writer = {
	.open = open_load,
	.write = write_load,
	.flush = flush_load,
	.close = close_load,
};

/* ---- reads ------------------------------------------------------------------------------------ */

int file_load_render(struct session *session, const struct dirtab_row *row, uid_t reader, GString *out,
	struct err *err)
{
	(void)row;
	(void)reader;
	(void)err;
	if (profiler_is_loaded(session->profiler))
		g_string_append_printf(out, "%" PRIu64 " bytes\n", profiler_held_bytes(session->profiler));
	return 0;
}
