/* SPDX-License-Identifier: MIT */
/*
 * kprof record: samples while a command runs, and keeps the samples of the command and its
 * descendants as a capture for the other subcommands.
 *
 * The whole machine is sampled, by the mounted server or a private one (sampling.h). kpdata is
 * copied to a file while the command runs (kpdata_copy.h). When the command has exited, its records
 * are copied to the output (capture/process_filter.h): only then are all forks known.
 */
#include "cmd/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <glib.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "capture/process_filter.h"
#include "cmd/kpdata_copy.h"
#include "cmd/launch.h"
#include "cmd/sampling.h"

#define DEFAULT_OUTPUT "kprof.data"

static const struct cmd_option options[] = {
	{'e', "event", "EVENT", "the events to sample, as for kpctl's `event`"},
	{'g', "stack", "MODE", "the stacks to take: dwarf, user, kernel, both or none"},
	{'o', "output", "FILE", "write to FILE (-: standard output) instead of " DEFAULT_OUTPUT},
	{'a', "all", NULL, "keep the samples of the whole machine"},
	{'m', "mount", "DIR", "use the server mounted at DIR"},
	{'p', "private", NULL, "use a private server, even if one is mounted"},
	{'q', "quiet", NULL, "don't print how much was sampled"},
	{0},
};

struct record_run {
	const char *event, *stack; /* NULL: keep the current setting */
	const char *output;
	bool made; /* created by kprof, and still empty */
	struct sampling_choice choice;
	bool all, quiet;
	char **argv;

	struct launch launch;
	struct sampling sampling;
	struct kpdata_copy copy;
	uint64_t begin; /* in the copied kpdata: after the records of an earlier run */
	FILE *out;
};

/* ---- before the command runs ----------------------------------------------------------------- */

/* Copies the rest of kpdata, of a profiler that is stopped or was stopped just now. */
static int take_held(struct record_run *r, struct err *err)
{
	uint64_t before;
	int ret;

	do {
		before = r->copy.size;
		ret = kpdata_copy_read(&r->copy, err);
	} while (!ret && !r->copy.ended && r->copy.size > before);
	return ret;
}

/* Skips the records of an earlier run: this run's records follow them. */
static int skip_earlier(struct record_run *r, struct err *err)
{
	int ret = take_held(r, err);

	r->begin = r->copy.size;
	return ret;
}

static int prepare(struct record_run *r, struct err *err)
{
	g_autofree char *folder = g_path_get_dirname(r->output);
	int ret = sampling_open(&r->sampling, &r->choice, &r->launch.before, err);

	if (!ret)
		ret = kpdata_copy_open(&r->copy, r->sampling.dir, folder, err);
	if (!ret)
		ret = skip_earlier(r, err);
	if (!ret)
		ret = sampling_start(&r->sampling, r->event, r->stack, err);
	if (!ret && !r->quiet)
		sampling_print_scope(&r->sampling);
	return ret;
}

/* ---- while the command runs ------------------------------------------------------------------ */

/*
 * Until the command has exited. If kpdata can't be read any more, the command continues without
 * being sampled.
 */
static int watch(struct record_run *r, struct err *err)
{
	struct pollfd fds[] = {
		{.fd = r->launch.signal_fd, .events = POLLIN},
		{.fd = r->copy.fd, .events = POLLIN},
	};
	int ret = 0;

	while (!ret && !r->launch.ended) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return err_set(err, errno, "poll: %s", strerror(errno));
		launch_signals(&r->launch);
		if (fds[1].revents)
			ret = kpdata_copy_read(&r->copy, err);
		if (!ret && r->copy.ended && !r->launch.ended)
			ret = err_set(err, ECANCELED, "another process stopped the profiler at %s",
				r->sampling.dir);
	}
	return ret;
}

/* The rest of the samples. */
static int stop(struct record_run *r, struct err *err)
{
	int ret = sampling_stop(&r->sampling, err);

	return ret ? ret : take_held(r, err);
}

/* ---- the output ------------------------------------------------------------------------------ */

static bool is_to_stdout(const struct record_run *r)
{
	return strcmp(r->output, "-") == 0;
}

static int open_output(struct record_run *r, struct err *err)
{
	/* the file has kernel addresses and the names of processes: readable by the owner only */
	const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY;
	int fd;

	if (is_to_stdout(r)) {
		fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	} else {
		fd = open(r->output, flags | O_EXCL, 0600);
		r->made = fd >= 0;
		if (fd < 0 && errno == EEXIST)
			fd = open(r->output, flags, 0600);
	}
	if (fd < 0)
		return err_set(err, errno, "%s: %s", r->output, strerror(errno));
	r->out = fdopen(fd, "w");
	return r->out ? 0 : err_set(err, errno, "%s: %s", r->output, strerror(errno));
}

static void learn(struct decoder *decoder, struct process_filter *subset)
{
	struct decode_record record;
	int ret;

	while ((ret = decode_next(decoder, &record, NULL)) > 0 || ret == -EBADMSG)
		if (ret > 0)
			process_filter_learn(subset, &record);
}

/* The scope of the events, if that is not the whole machine. */
static const char *scope_of(const struct decode_record *record)
{
	if (record->type != KPROF_REC_EVENT)
		return NULL;
	if (record->event.flags & KPROF_EVENT_SCOPE_OWN)
		return "own processes, user space only";
	return record->event.flags & KPROF_EVENT_SCOPE_USER ? "user space only" : NULL;
}

static int copy(struct record_run *r, struct process_filter *subset, struct decoder *decoder,
	const char **scope, struct err *err)
{
	struct decode_record record;
	const char *limited;
	int ret;

	while ((ret = decode_next(decoder, &record, err)) > 0) {
		const size_t size = (size_t)(decoder->offset - record.offset);

		if (!process_filter_matches(subset, &record))
			continue;
		limited = scope_of(&record);
		if (limited)
			*scope = limited;
		fwrite(record.payload + record.size - size, 1, size, r->out);
	}
	if (ret)
		return ret;
	if (fflush(r->out) || ferror(r->out))
		return err_set(err, errno, "%s: %s", r->output, strerror(errno));
	return 0;
}

static void append_losses(GString *line, const struct process_filter_counts *counts)
{
	static const char *const reasons[PROFILE_LOST_REASONS] = {
		[0] = "for other reasons",
		[KPROF_LOST_RING] = "a ring was full",
		[KPROF_LOST_QUEUE] = "kpdata was full",
		[KPROF_LOST_OVERWRITE] = "overwritten",
		[KPROF_LOST_INVALID] = "not understood",
		[KPROF_LOST_RING_RECORDS] = "records: a ring was full",
	};
	const char *before = "; lost on the machine: ";
	size_t i;

	for (i = 0; i < PROFILE_LOST_REASONS; i++) {
		if (!counts->lost[i])
			continue;
		g_string_append_printf(
			line, "%s%" PRIu64 " (%s)", before, counts->lost[i], reasons[i]);
		before = ", ";
	}
	if (*before == ';')
		g_string_append(line, "; none was lost");
}

static void say(
	const struct record_run *r, const struct process_filter_counts *counts, const char *scope)
{
	g_autoptr(GString) line = g_string_new(NULL);

	g_string_append_printf(line, "%s: ", r->output);
	text_append_count(line, counts->samples, "sample", "samples");
	if (!r->all) {
		g_string_append(line, " of ");
		text_append_count(line, counts->processes, "process", "processes");
		g_string_append_printf(line, ", %" PRIu64 " of others left out", counts->others);
	}
	if (counts->gone)
		g_string_append_printf(line, ", %" PRIu64 " of exited tasks", counts->gone);
	append_losses(line, counts);
	if (scope)
		g_string_append_printf(line, "; %s", scope);
	fprintf(stderr, "kprof record: %s\n", line->str);
}

static int write_output(struct record_run *r, uint32_t root, struct err *err)
{
	struct process_filter *subset =
		process_filter_create(r->all ? KPROF_PID_KERNEL : root, r->begin);
	const char *scope = NULL;
	struct decoder decoder;
	int ret = 0;

	/* truncates a regular file left by an earlier run; the output of the command is kept */
	if (!is_to_stdout(r) && ftruncate(fileno(r->out), 0) && errno != EINVAL)
		ret = err_set(err, errno, "%s: %s", r->output, strerror(errno));
	decode_init_pread(&decoder, r->copy.file, 0);
	if (!ret) {
		learn(&decoder, subset);
		ret = decode_rewind(&decoder);
	}
	if (!ret) {
		r->made = false;
		ret = copy(r, subset, &decoder, &scope, err);
	}
	decode_fini(&decoder);
	if (!ret && !r->quiet)
		say(r, process_filter_counts(subset), scope);
	process_filter_destroy(subset);
	return ret;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void clean_up(struct record_run *r, bool failed)
{
	kpdata_copy_close(&r->copy);
	sampling_close(&r->sampling);
	if (r->out)
		fclose(r->out);
	if (failed && r->made)
		unlink(r->output); /* an empty file would look like a run without samples */
}

/* If the sampling fails, the command still runs to its end. */
static int run_command(struct record_run *r, uint32_t root, struct err *err)
{
	int ret = watch(r, err), stopped;
	struct err later = { "" };

	stopped = stop(r, &later);
	if (!ret && stopped) {
		ret = stopped;
		*err = later;
	}
	if (r->copy.size > r->begin) {
		stopped = write_output(r, root, &later);
		if (!ret && stopped) {
			ret = stopped;
			*err = later;
		}
	}
	return ret;
}

static int record(struct record_run *r)
{
	struct err err = { "" };
	int ret, status = CMD_NOT_RUN;
	bool runs = false;
	uint32_t root;

	ret = launch_begin(&r->launch, r->argv, &err);
	root = (uint32_t)r->launch.pid;
	if (!ret)
		ret = open_output(r, &err);
	if (!ret)
		ret = prepare(r, &err);
	if (!ret) {
		ret = launch_go(&r->launch, &err);
		runs = !ret;
		if (runs) {
			ret = run_command(r, root, &err);
		} else {
			status = launch_status(ret);
			err_prefix(&err, "%s", r->argv[0]);
		}
	}
	if (ret)
		cmd_error("%s", *err.text ? err.text : strerror(-ret));
	clean_up(r, ret);
	launch_end(&r->launch);
	/*
	 * the status of a command that failed is more useful than that its samples could not be
	 * kept
	 */
	return runs && (!ret || r->launch.status) ? r->launch.status : status;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct record_run r = {.output = DEFAULT_OUTPUT};
	int letter, status;

	while ((letter = cmd_next_option(command, argc, argv, &status)) > 0) {
		if (letter == 'e')
			r.event = optarg;
		else if (letter == 'g')
			r.stack = optarg;
		else if (letter == 'o')
			r.output = optarg;
		else if (letter == 'm')
			r.choice.mount = optarg;
		r.all |= letter == 'a';
		r.choice.private |= letter == 'p';
		r.quiet |= letter == 'q';
	}
	if (letter < 0)
		return status;
	if (r.choice.private && r.choice.mount)
		return cmd_usage_error(command, "give --mount or --private, not both");
	if (optind == argc)
		return cmd_usage_error(command, "no command to run");
	r.argv = argv + optind;
	return record(&r);
}

const struct command cmd_record = {
	.name = "record",
	.arguments = "COMMAND [ARGUMENT...]",
	.summary = "Sample while a command runs, and keep what it and its descendants did",
	.examples = "kprof record -- make -j4\n"
		    "kprof record -e page-faults:period=1 -o faults -- ls\n"
		    "kprof record --all -o machine -- sleep 10\n",
	.options = options,
	.run = run,
	.runs = true,
};
