/* SPDX-License-Identifier: MIT */
/* Kernel lockdown: see lockdown.h. */
#include "sys/lockdown.h"

#include <stdio.h>
#include <string.h>

#define FILE_OF_KERNEL "/sys/kernel/security/lockdown"
/* The level that holds, among all of them: "none integrity [confidentiality]". */
#define CONFIDENTIAL "[confidentiality]"

bool lockdown_is_confidential(const char *path)
{
	FILE *file = fopen(path ? path : FILE_OF_KERNEL, "re");
	char line[128];
	bool is = false;

	if (!file)
		return false;
	if (fgets(line, sizeof(line), file))
		is = strstr(line, CONFIDENTIAL) != NULL;
	fclose(file);
	return is;
}
