/* SPDX-License-Identifier: MIT */
/*
 * The functions behind the rows of the dirtab, one file_*.c for each part of the server. dirtab.h
 * says what each kind of function may do.
 */
#ifndef KPROFS_FS_FILE_H
#define KPROFS_FS_FILE_H

#include <glib.h>

#include "capture/query.h"
#include "fs/ctl_words.h"
#include "fs/dirtab.h"
#include "fs/sessions.h"

struct cpus;
struct file_cpudir;
struct file_ctf;
struct cursor;
struct profiler;
struct probes;
struct trace_records_cpu;

/* file_prof.c: kpctl, kpdata */
int file_kpctl_render(struct session *session, const struct dirtab_row *row, uid_t reader,
	GString *out, struct err *err);
extern const struct ctl_words_word file_kpctl_words[];
extern const struct writer_ops file_load_writer;
int file_load_render(struct session *session, const struct dirtab_row *row, uid_t reader, GString *out,
	struct err *err);
extern const struct stream_ops file_kpdata_stream;
uint64_t file_kpdata_size(struct session *session, const struct dirtab_row *row);
int file_kpdata_write(struct session *session, const struct dirtab_row *row,
	const struct origin *origin, const char *data, size_t size, struct err *err);

/* file_help.c: help */
int file_help_render(struct session *session, const struct dirtab_row *row, uid_t reader,
	GString *out, struct err *err);

/* file_trace.c: kptrace, kptrace_ctl, kprintx */
extern const struct lazy_ops file_kptrace_lazy;
uint64_t file_kptrace_size(struct session *session, const struct dirtab_row *row);
int file_kptrace_write(struct session *session, const struct dirtab_row *row,
	const struct origin *origin, const char *data, size_t size, struct err *err);
int file_kptrace_ctl_render(struct session *session, const struct dirtab_row *row, uid_t reader,
	GString *out, struct err *err);
extern const struct ctl_words_word file_kptrace_ctl_words[];
int file_kprintx_render(struct session *session, const struct dirtab_row *row, uid_t reader,
	GString *out, struct err *err);
extern const struct ctl_words_word file_kprintx_words[];

/* file_cpudir.c: kptrace_pipe, cpu/. A reading of the trace, for kptrace too: -EINTR */
int file_reading_begin(
	struct session *session, const struct trace_records_cpu *cpu, void *job, struct lazy **lazy);
/* Returns whether a reading that begins now takes long. */
bool file_reading_is_long(struct session *session);
extern const struct stream_ops file_kptrace_pipe_stream;
uint64_t file_kptrace_pipe_size(struct session *session, const struct dirtab_row *row);
const struct dirtab_row *file_cpu_lookup(struct session *session, const struct dirtab_row *dir,
	const char *name);
void file_cpu_list(struct session *session, const struct dirtab_row *dir, GPtrArray *rows);
struct file_cpudir *file_cpudir_create(const struct cpus *cpus);
/* NULL is allowed. */
void file_cpudir_destroy(struct file_cpudir *dir);

/* file_events.c: events/ */
/* Removes all events, and lets producers that discard go on. */
void file_events_clear(struct session *session);
const struct dirtab_row *file_events_lookup(struct session *session, const struct dirtab_row *dir,
	const char *name);
const struct dirtab_row *file_events_create(struct session *session, const struct dirtab_row *dir,
	const char *name);
void file_events_list(struct session *session, const struct dirtab_row *dir, GPtrArray *rows);
int file_events_enabled_render(struct session *session, const struct dirtab_row *row, uid_t reader,
	GString *out, struct err *err);
extern const struct ctl_words_word file_events_enabled_words[];
int file_events_all_render(struct session *session, const struct dirtab_row *row, uid_t reader,
	GString *out, struct err *err);
extern const struct ctl_words_word file_events_all_words[];
int file_events_info_render(struct session *session, const struct dirtab_row *row, uid_t reader,
	GString *out, struct err *err);
int file_events_overflow_render(struct session *session, const struct dirtab_row *row, uid_t reader,
	GString *out, struct err *err);
extern const struct ctl_words_word file_events_reset_words[];

/* file_kernel.c: events/kernel/ */
const struct dirtab_row *file_kernel_lookup(struct session *session, const struct dirtab_row *dir,
	const char *name);
void file_kernel_list(struct session *session, const struct dirtab_row *dir, GPtrArray *rows);
int file_kernel_pids_render(struct session *session, const struct dirtab_row *row, uid_t reader,
	GString *out, struct err *err);
int file_kernel_pids_write(struct session *session, const struct dirtab_row *row,
	const struct origin *origin, const char *data, size_t size, struct err *err);
int file_kernel_info_make(struct session *session, const struct dirtab_row *row, int fd, void *job,
	struct err *err);

/* file_probes.c: probes/ */
struct file_probes_options {
	uint64_t memory_bytes;	     /* of the machine */
	_Atomic uint32_t *serials;   /* of the programs of all sessions, */
	struct file_links *links;    /* and their links in files */
	/* mount options: */
	uint32_t keys, string_bytes; /* 0: the defaults */
	uint32_t pid;		     /* 0: all */
	bool as_json;
};
/* The programs of a session, which must outlive them. */
struct probes *file_probes_create(struct session *session, const struct file_probes_options *options);
const struct dirtab_row *file_probes_lookup(struct session *session, const struct dirtab_row *dir,
	const char *name);
void file_probes_list(struct session *session, const struct dirtab_row *dir, GPtrArray *rows);
const struct dirtab_row *file_probes_new(struct session *session, const struct dirtab_row *dir,
	const char *name);
int file_probes_remove(struct session *session, const struct dirtab_row *dir, const char *name);
int file_probes_list_make(struct session *session, const struct dirtab_row *row, int fd, void *job,
	struct err *err);

/* file_sessions.c: sessions/ */
const struct dirtab_row *file_sessions_lookup(struct session *session, const struct dirtab_row *dir,
	const char *name);
void file_sessions_list(struct session *session, const struct dirtab_row *dir, GPtrArray *rows);

/* file_mpstat.c: mpstat, mpstat-raw */
int file_mpstat_render(struct session *session, const struct dirtab_row *row, uid_t reader,
	GString *out, struct err *err);
int file_mpstat_raw_render(struct session *session, const struct dirtab_row *row, uid_t reader,
	GString *out, struct err *err);
int file_sched_make(struct session *session, const struct dirtab_row *row, int fd, void *job,
	struct err *err);
uint64_t file_mpstat_size(struct session *session, const struct dirtab_row *row);
uint64_t file_mpstat_raw_size(struct session *session, const struct dirtab_row *row);
extern const struct ctl_words_word file_mpstat_words[];

/* file_view.c: views/ */
int file_view_make(struct session *session, const struct dirtab_row *row, int fd, void *job,
	struct err *err);
/* Which part of the capture a view shows, and from which other session the difference. */
struct file_view_part {
	struct query query;
	char versus[SESSIONS_NAME_MAX + 1]; /* the name of that session; "" for no difference */
	bool wakers; /* stacks of times away go on with those of their wakers */
};
/* The same of a part of the capture; name is that of a format. */
int file_view_make_part(struct session *session, const char *name, const struct file_view_part *part,
	int fd, void *job, struct err *err);

/*
 * Settles the times of a query, so that they are CLOCK_MONOTONIC. While the profiler runs, `last`
 * counts from now, since it may take no samples for some time.
 */
void file_view_settle(struct session *session, struct query *query);
/* Opens the held records of the time of a settled query, of these the newest bytes_max. */
int file_view_open_part(struct profiler *profiler, const struct query *query, uint64_t bytes_max,
	struct cursor **cursor);

/* file_part.c: the folders below views/ whose views are of a part of the capture */
int file_part_resolve(struct session *session, const struct dirtab_row *dir, const char *name,
	const struct dirtab_row **row, struct err *err);
/* Those of them that are listed. */
void file_part_list(struct session *session, const struct dirtab_row *dir, GPtrArray *rows);

/* file_ctf.c: views/ctf/. 0 or -errno; the CPUs are only needed for the call */
int file_ctf_create(const struct cpus *cpus, struct file_ctf **ctf);
/* Called when no text of it exists any more. */
void file_ctf_destroy(struct file_ctf *ctf);
/*
 * Returns a descriptor that becomes readable when files may be old; the caller then calls the
 * second function.
 */
int file_ctf_timer(const struct file_ctf *ctf);
void file_ctf_expire(struct file_ctf *ctf);
const struct dirtab_row *file_ctf_lookup(struct session *session, const struct dirtab_row *dir,
	const char *name);
void file_ctf_list(struct session *session, const struct dirtab_row *dir, GPtrArray *rows);

/* file_stat.c: kpstat, kperr, views/metrics */
int file_kpstat_render(struct session *session, const struct dirtab_row *row, uid_t reader,
	GString *out, struct err *err);
/* Whether programs of probes have maps, whose keys are counted one by one. */
bool file_kpstat_is_long(struct session *session);
int file_kperr_render(struct session *session, const struct dirtab_row *row, uid_t reader,
	GString *out, struct err *err);
int file_metrics_make(struct session *session, const struct dirtab_row *row, int fd, void *job,
	struct err *err);

#endif
