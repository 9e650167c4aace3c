/* SPDX-License-Identifier: MIT */
/* A gzip stream that writes to a stdio stream: see gzip.h. */
#include "formats/gzip.h"

#include <glib.h>
#include <stdint.h>
#include <string.h>
#include <zlib.h>

/* Bytes that are given to zlib at a time: more are not faster. */
#define IN_BYTES 65536
#define OUT_BYTES 65536

/* Profiles are made while a user waits: the fastest level is 3 times as fast, and 1/5 larger. */
#define LEVEL 1
#define WINDOW_GZIP (15 + 16) /* the largest window, and a gzip header */
#define MEMORY 8	      /* zlib's default */

struct gzip {
	z_stream z;
	FILE *out;
	size_t used;
	uint8_t in[IN_BYTES];
	uint8_t packed[OUT_BYTES];
};

struct gzip *gzip_create(FILE *out)
{
	struct gzip *gzip = g_try_new0(struct gzip, 1);

	if (!gzip)
		return NULL;
	gzip->out = out;
	if (deflateInit2(&gzip->z, LEVEL, Z_DEFLATED, WINDOW_GZIP, MEMORY, Z_DEFAULT_STRATEGY) !=
		Z_OK) {
		g_free(gzip);
		return NULL;
	}
	return gzip;
}

/*
 * With Z_NO_FLUSH and Z_FINISH deflate() can't fail as long as it has input or output to process.
 */
static void pack(struct gzip *gzip, int flush)
{
	gzip->z.next_in = gzip->in;
	gzip->z.avail_in = (uInt)gzip->used;
	do {
		gzip->z.next_out = gzip->packed;
		gzip->z.avail_out = OUT_BYTES;
		deflate(&gzip->z, flush);
		/* the owner of the stream checks it for errors */
		(void)!fwrite(gzip->packed, 1, OUT_BYTES - gzip->z.avail_out, gzip->out);
	} while (!gzip->z.avail_out);
	gzip->used = 0;
}

void gzip_write(struct gzip *gzip, const void *bytes, size_t size)
{
	const uint8_t *from = bytes;

	while (size) {
		size_t n = MIN(size, IN_BYTES - gzip->used);

		memcpy(gzip->in + gzip->used, from, n);
		gzip->used += n;
		from += n;
		size -= n;
		if (gzip->used == IN_BYTES)
			pack(gzip, Z_NO_FLUSH);
	}
}

void gzip_finish(struct gzip *gzip)
{
	pack(gzip, Z_FINISH);
}

void gzip_destroy(struct gzip *gzip)
{
	deflateEnd(&gzip->z);
	g_free(gzip);
}
