/* SPDX-License-Identifier: MIT */
/* The sentence that explains an errno: see err.h. */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *err, int code, const char *format, ...)
{
	va_list ap;

	if (err) {
		va_start(ap, format);
		vsnprintf(err->text, sizeof(err->text), format, ap);
		va_end(ap);
	}
	return -code;
}

void err_prefix(struct err *err, const char *format, ...)
{
	char old[ERR_TEXT_MAX];
	va_list ap;
	int n;

	if (!err || !err->text[0])
		return;
	memcpy(old, err->text, sizeof(old));
	va_start(ap, format);
	n = vsnprintf(err->text, sizeof(err->text), format, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < sizeof(err->text))
		snprintf(err->text + n, sizeof(err->text) - n, ": %s", old);
}
