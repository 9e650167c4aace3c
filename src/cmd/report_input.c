/* SPDX-License-Identifier: MIT */
/* Opens a capture for a report: see report_input.h. */
#include "cmd/report_input.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/progress.h"
#include "symbolizer/helpers.h"

void report_input_warn_of_names(void)
{
	g_autofree char *program = helpers_find_program();

	if (access(program, X_OK))
		cmd_error("functions have no names: %s: %s", program, strerror(errno));
}

int report_input_open(struct report_input *capture, const struct input_choice *choice,
	const struct report_input_options *options)
{
	const struct profile_options load = {.moments = options->moments};
	const struct symbols_how how = {.flags = options->lines ? SYMBOLS_LINES : 0, .cancel_fd = -1};
	struct progress *progress;
	struct err err;

	memset(capture, 0, sizeof(*capture));
	if (input_open(&capture->input, choice, true, &err) < 0) {
		cmd_error("%s", err.text);
		return CMD_FAILED;
	}
	if (input_unwind(&capture->input, &err) < 0) {
		cmd_error("%s: %s", capture->input.name, err.text);
		input_close(&capture->input);
		return CMD_FAILED;
	}
	report_input_warn_of_names();
	progress = progress_begin();
	capture->symbols = progress_open_symbols(progress);
	symbols_prepare(capture->symbols); /* starts the helpers while the records are read */
	if (profile_load_with(&capture->input.decoder, &load, &capture->profile, &err) < 0) {
		cmd_error("%s: %s", capture->input.name, err.text);
		symbols_destroy(capture->symbols);
		input_close(&capture->input);
		return CMD_FAILED;
	}
	progress_set_files(progress, processes_file_count(capture->profile->processes));
	capture->names = functions_create(capture->profile, capture->symbols, &how);
	progress_end(progress);
	return CMD_OK;
}

void report_input_close(struct report_input *capture)
{
	functions_destroy(capture->names);
	symbols_destroy(capture->symbols); /* also frees its progress */
	profile_destroy(capture->profile);
	input_close(&capture->input);
}

int report_input_print_profile_damage(const char *name, const struct profile *profile)
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

int report_input_print_damage(const struct report_input *capture)
{
	const int status = report_input_print_profile_damage(capture->input.name, capture->profile);

	return capture->input.damaged ? CMD_FAILED : status;
}
