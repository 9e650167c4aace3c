/* SPDX-License-Identifier: MIT */
/*
 * A gzip stream that writes to a stdio stream. One thread at a time.
 */
#ifndef KPROFS_FORMATS_GZIP_H
#define KPROFS_FORMATS_GZIP_H

#include <stddef.h>
#include <stdio.h>

struct gzip;

/*
 * Returns NULL if there is no memory (256 KiB). The caller keeps the ownership of the stream and
 * checks ferror().
 */
struct gzip *gzip_create(FILE *out);
void gzip_write(struct gzip *gzip, const void *bytes, size_t size);
/* Writes the rest and the end of the stream. */
void gzip_finish(struct gzip *gzip);
void gzip_destroy(struct gzip *gzip);

#endif
