/* SPDX-License-Identifier: MIT */
/* Names of users. */
#include "sys/users.h"

#include <pwd.h>
#include <stdio.h>

/* Of a line; longer ones end the search. */
#define LINE_BYTES 4096

bool users_name(const char *path, uid_t uid, char *name, size_t bytes)
{
	FILE *file = fopen(path ? path : "/etc/passwd", "re");
	struct passwd entry, *at;
	char line[LINE_BYTES];
	bool found = false;

	while (file && !found && !fgetpwent_r(file, &entry, line, sizeof(line), &at))
		if (entry.pw_uid == uid) {
			snprintf(name, bytes, "%s", entry.pw_name);
			found = true;
		}
	if (file)
		fclose(file);
	return found;
}
