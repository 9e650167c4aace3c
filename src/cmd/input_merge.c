/* SPDX-License-Identifier: MIT */
/* Several captures as one: see input_merge.h. */
#include "cmd/input_merge.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/fdio.h"
#include "capture/decode.h"
#include "cmd/cmd.h"
#include "sys/memfile.h"

int input_merge_begin(struct input_merge *merge, struct err *err)
{
	merge->damaged = false;
	merge->fd = memfile_create_sealable("captures");
	return merge->fd < 0 ? err_set(err, -merge->fd, "no memory for the captures: %s",
				       strerror(-merge->fd)) :
			       0;
}

static void note_damage(struct input_merge *merge, const char *name, const struct err *why)
{
	cmd_error("%s: %s", name, why->text);
	merge->damaged = true;
}

/* Copies records until they end or are damaged; damage is not copied, so that the next file is found. */
static int copy_records(struct input_merge *merge, const char *name, struct decoder *decoder, struct err *err)
{
	struct decode_record record;
	uint64_t taken = 0;
	struct err why;
	int ret, failed = 0;

	while (!failed && ((ret = decode_next(decoder, &record, &why)) > 0 || ret == -EBADMSG)) {
		const size_t size = (size_t)(decoder->offset - taken);
		const bool is_first = taken == 0;

		taken = decoder->offset;
		if (is_first && record.type != KPROF_REC_CLOCK)
			return err_set(err, EINVAL,
				"%s can't be merged: it does not begin with a CLOCK record", name);
		if (ret > 0)
			failed = fdio_write(merge->fd, record.payload + record.size - size, size);
		else
			note_damage(merge, name, &why);
	}
	if (failed)
		return err_set(err, -failed, "%s: %s", name, strerror(-failed));
	if (ret < 0)
		note_damage(merge, name, &why);
	return 0;
}

int input_merge_add(struct input_merge *merge, const char *name, int fd, struct err *err)
{
	struct decoder decoder;
	int ret;

	decode_init_fd(&decoder, fd);
	ret = copy_records(merge, name, &decoder, err);
	decode_fini(&decoder);
	return ret;
}
