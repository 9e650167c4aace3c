/* SPDX-License-Identifier: MIT */
/* A report for browsers: see html.h. */
#include "formats/html.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "formats/flame_page.h"
#include "formats/gzip.h"
#include "formats/html_data.h"
#include "formats/summary.h"
#include "sys/host.h"

/* Bytes that are compressed or encoded between two looks for a cancellation: below a millisecond. */
#define CHUNK 49152

/* Each file as one string. */
static const char style[] =
#include "formats/report_css.h"
	;

static const char *const scripts[] = {
#include "formats/report_data_js.h"
	,
#include "formats/report_model_js.h"
	,
#include "formats/report_flame_js.h"
	,
#include "formats/report_lists_js.h"
	,
#include "formats/report_time_js.h"
	,
#include "formats/report_page_js.h"
};

/* ---- the data -------------------------------------------------------------------------------- */

/* Compresses bytes to a stream. */
static int pack(const struct view_input *input, const GByteArray *data, FILE *out)
{
	struct gzip *gzip = gzip_create(out);
	guint at, n;

	if (!gzip)
		return -ENOMEM;
	for (at = 0; at < data->len && !view_cancelled(input); at += n) {
		n = MIN(data->len - at, CHUNK);
		gzip_write(gzip, data->data + at, n);
	}
	gzip_finish(gzip);
	gzip_destroy(gzip);
	return at < data->len ? -EINTR : 0;
}

static void put_base64(const char *bytes, size_t size, FILE *out)
{
	g_autofree char *text = g_malloc((CHUNK / 3 + 1) * 4 + 4);
	gint state = 0, save = 0;
	size_t n;

	for (; size; bytes += n, size -= n) {
		n = MIN(size, (size_t)CHUNK);
		fwrite(text, 1, g_base64_encode_step((const guchar *)bytes, n, FALSE, text, &state, &save),
			out);
	}
	fwrite(text, 1, g_base64_encode_close(FALSE, text, &state, &save), out);
}

/* The data of a capture, packed; the caller frees *packed, which is NULL at first. */
static int make_packed(const struct view_input *input, char **packed, size_t *size, struct err *err)
{
	GByteArray *data;
	FILE *stream;
	int ret = html_data_make(input, &data, err);

	if (ret)
		return ret;
	stream = open_memstream(packed, size);
	ret = stream ? pack(input, data, stream) : -ENOMEM;
	if (stream && fclose(stream) && !ret)
		ret = -ENOMEM;
	g_byte_array_free(data, TRUE);
	if (!ret)
		return 0;
	return err_set(err, -ret, ret == -EINTR ? "the view was cancelled" : "no memory");
}

static void put_data(const char *id, const char *packed, size_t size, FILE *out)
{
	fprintf(out, "<script type=\"text/plain\" id=\"%s\">", id);
	put_base64(packed, size, out);
	fputs("</script>\n", out);
}

/* ---- the page -------------------------------------------------------------------------------- */

static void put_escaped(const GString *text, FILE *out)
{
	g_autoptr(GString) escaped = g_string_new(NULL);

	flame_page_escape(escaped, text->str);
	fwrite(escaped->str, 1, escaped->len, out);
}

/* What the samples cover, as far as the events say it: a file may have a part of it only. */
static const char *scope_of(const struct profile *profile)
{
	uint32_t i, flags = 0;

	for (i = 0; i < profile->events->len; i++)
		flags |= profile_event(profile, i)->flags;
	if (flags & KPROF_EVENT_SCOPE_OWN)
		return "user space of one user's own processes";
	return flags & KPROF_EVENT_SCOPE_USER ? "user space" : "kernel and user space";
}

/* The source as text and where the page is made: the capture does not name its machine. */
static void put_origin(const struct view_input *input, FILE *out)
{
	g_autoptr(GString) line = g_string_new(NULL);
	struct host host;

	host_read(&host);
	if (input->source && input->source->name)
		g_string_append_printf(line, "Source: %s. ", input->source->name);
	g_string_append_printf(line, "Page made on %s (%s). Scope: %s.", host.name, host.arch,
		scope_of(input->profile));
	fputs("<p>", out);
	put_escaped(line, out);
	fputs("</p>\n", out);
}

static void put_summary(const struct view_input *input, FILE *out)
{
	const struct profile *profile = input->profile;
	g_autoptr(GString) line = g_string_new(NULL);
	uint32_t i;

	put_origin(input, out);
	summary_append_capture(line, profile);
	fputs("<p>", out);
	put_escaped(line, out);
	fputs("</p>\n<ul>\n", out);
	for (i = 0; i < profile->events->len; i++) {
		g_string_truncate(line, 0);
		summary_append_event(line, profile_event(profile, i), false);
		fputs("<li>", out);
		put_escaped(line, out);
		fputs("</li>\n", out);
	}
	g_string_truncate(line, 0);
	summary_append_notes(line, profile);
	fputs("</ul>\n", out);
	if (line->len) {
		fputs("<p>", out);
		put_escaped(line, out);
		fputs("</p>\n", out);
	}
}

static char *make_script(void)
{
	GString *script = g_string_new("\"use strict\";\n(function () {\n");
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(scripts); i++)
		g_string_append(script, scripts[i]);
	g_string_append(script, "})();\n");
	return g_string_free(script, FALSE);
}

/* What a Content-Security-Policy takes for an inline script or style. */
static char *make_hash(const char *text)
{
	GChecksum *sum = g_checksum_new(G_CHECKSUM_SHA256);
	g_autofree char *base64 = NULL;
	guint8 digest[32];
	gsize size = sizeof(digest);

	g_checksum_update(sum, (const guchar *)text, (gssize)strlen(text));
	g_checksum_get_digest(sum, digest, &size);
	g_checksum_free(sum);
	base64 = g_base64_encode(digest, size);
	return g_strdup_printf("'sha256-%s'", base64);
}

static void put_title(const struct view_input *input, FILE *out)
{
	g_autoptr(GString) title = g_string_new("kprof report");

	if (input->source && input->source->name)
		g_string_append_printf(title, ": %s", input->source->name);
	fputs("<title>", out);
	put_escaped(title, out);
	fputs("</title>\n", out);
}

static void put_page(const struct view_input *before, const struct view_input *input, FILE *out)
{
	g_autofree char *script = make_script();
	g_autofree char *script_hash = make_hash(script);
	g_autofree char *style_hash = make_hash(style);

	fprintf(out,
		"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		"script-src %s; style-src %s; base-uri 'none'; form-action 'none'\">\n"
		"<meta name=\"viewport\" content=\"width=device-width\">\n"
		"<style>%s</style>\n",
		script_hash, style_hash, style);
	put_title(input, out);
	fputs("</head>\n<body>\n<header id=\"summary\">\n<h1>kprof report</h1>\n", out);
	put_summary(input, out);
	if (before) {
		fputs("<p>Compared with an earlier capture:</p>\n", out);
		put_summary(before, out);
	}
	fprintf(out,
		"<noscript>The rest of the page needs JavaScript.</noscript>\n</header>\n"
		"<main id=\"main\"></main>\n<script>%s</script>\n", script);
}

int html_write_difference(const struct view_input *before, const struct view_input *input, FILE *out,
	struct err *err)
{
	char *packed = NULL, *packed_before = NULL;
	size_t size = 0, size_before = 0;
	int ret = make_packed(input, &packed, &size, err);

	if (!ret && before)
		ret = make_packed(before, &packed_before, &size_before, err);
	if (!ret) {
		put_page(before, input, out);
		put_data("data", packed, size, out);
		if (before)
			put_data("before", packed_before, size_before, out);
		fputs("</body>\n</html>\n", out);
	}
	free(packed_before);
	free(packed);
	return ret;
}

int html_write(const struct view_input *input, FILE *out, struct err *err)
{
	return html_write_difference(input->before, input, out, err);
}
