/* SPDX-License-Identifier: MIT */
/*
 * A report for browsers: one HTML file that needs no other file. It begins with the summary, which
 * needs no script; then come the script (report_*.js), which draws the rest, and the data
 * (html_data.h), compressed by gzip, in base64. The page has a Content-Security-Policy that allows
 * this one script and style by their hashes and nothing else, so that no name in the capture can
 * run or load anything.
 */
#ifndef KPROFS_FORMATS_HTML_H
#define KPROFS_FORMATS_HTML_H

#include <stdio.h>

#include "base/err.h"
#include "formats/view_input.h"

/* As view_format.write. Returns the errors of html_data_make(). Needs VIEW_MOMENTS. */
int html_write(const struct view_input *input, FILE *out, struct err *err);

/* The same with the difference from an earlier capture, `before`. */
int html_write_difference(const struct view_input *before, const struct view_input *input, FILE *out,
	struct err *err);

#endif
