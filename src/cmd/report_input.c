/* SPDX-License-Identifier: MIT */
/* A capture as the reports need it: see loaded.h. */
#include "cmd/report_input.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/progress.h"

int report_input_open(struct report_input *loaded, const struct input_choice *choice, bool lines)
{
	const struct symbols_how how = {.flags = lines ? SYMBOLS_LINES : 0, .cancel_fd = -1};
	struct progress *progress;
	struct err err;

	memset(loaded, 0, sizeof(*loaded));
	if (input_open(&loaded->input, choice, true, &err) < 0) {
		cmd_error("%s", err.text);
		return CMD_FAILED;
	}
	if (input_unwind(&loaded->input, &err) < 0) {
		cmd_error("%s: %s", loaded->input.name, err.text);
		input_close(&loaded->input);
		return CMD_FAILED;
	}
	progress = progress_begin();
	loaded->symbols = progress_open_symbols(progress);
	symbols_prepare(loaded->symbols); /* while the records are read */
	if (profile_load(&loaded->input.decoder, &loaded->profile, &err) < 0) {
		cmd_error("%s: %s", loaded->input.name, err.text);
		symbols_destroy(loaded->symbols);
		input_close(&loaded->input);
		return CMD_FAILED;
	}
	progress_set_files(progress, processes_file_count(loaded->profile->processes));
	loaded->names = functions_create(loaded->profile, loaded->symbols, &how);
	progress_end(progress);
	return CMD_OK;
}

void report_input_close(struct report_input *loaded)
{
	functions_destroy(loaded->names);
	symbols_destroy(loaded->symbols); /* with its progress */
	profile_destroy(loaded->profile);
	input_close(&loaded->input);
}

int report_input_say_damage(const char *name, const struct profile *profile)
{
	guint i;

	fflush(stdout);
	for (i = 0; i < profile->damage->len; i++)
		cmd_error("%s: %s", name, (const char *)profile->damage->pdata[i]);
	if (profile->damaged > profile->damage->len)
		cmd_error("%s: and so on, %" PRIu64 " times in all", name, profile->damaged);
	if (!profile->records && (profile->damaged || profile->unknown)) {
		cmd_error("%s: no record of a known type: is this kpdata?", name);
		return CMD_FAILED;
	}
	return profile->damaged ? CMD_FAILED : CMD_OK;
}

int report_input_report_damage(const struct report_input *loaded)
{
	return report_input_say_damage(loaded->input.name, loaded->profile);
}
