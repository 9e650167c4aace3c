/* SPDX-License-Identifier: MIT */
/* The feature sections of a perf.data file: see perfdata_features.h. */
#include "config.h"

#include "formats/perfdata/perfdata_features.h"

#include <string.h>

#include "formats/perfdata/perfdata_stream.h"
#include "sys/host.h"
#include "sys/proc.h"

/*
 * How much the boot times of the capture and of this machine may differ. NTP adjusts both clocks
 * alike, and two machines are rarely booted within this time.
 */
#define SAME_BOOT_NS 1000000

/* ---- pieces ---------------------------------------------------------------------------------- */

static void add_bytes(struct perfdata_features *f, const void *bytes, size_t size)
{
	g_byte_array_append(f->bodies, bytes, (guint)size);
}

static void add_u32(struct perfdata_features *f, uint32_t value)
{
	add_bytes(f, &value, sizeof(value));
}

static void add_u64(struct perfdata_features *f, uint64_t value)
{
	add_bytes(f, &value, sizeof(value));
}

/* `length` bytes and zeros up to `padded` bytes */
static void add_padded(struct perfdata_features *f, const char *text, size_t length,
	size_t padded)
{
	guint at = f->bodies->len;

	g_byte_array_set_size(f->bodies, at + (guint)padded);
	memset(f->bodies->data + at, 0, padded);
	memcpy(f->bodies->data + at, text, length);
}

static size_t pad_name(size_t length)
{
	return (length + 1 + PERFDATA_NAME_ALIGN - 1) & ~(size_t)(PERFDATA_NAME_ALIGN - 1);
}

static void add_string(struct perfdata_features *f, const char *text)
{
	size_t length = strnlen(text, PERFDATA_PATH_MAX);

	add_u32(f, (uint32_t)pad_name(length));
	add_padded(f, text, length, pad_name(length));
}

/* Sections are in the order of their bits; each ends where the next one begins. */
static void begin(struct perfdata_features *f, enum perfdata_feature feature)
{
	struct perfdata_section section = { .offset = f->bodies->len };

	f->bits[feature / 64] |= 1ull << feature % 64;
	g_array_append_val(f->sections, section);
}

static void end(struct perfdata_features *f)
{
	struct perfdata_section *section =
		&g_array_index(f->sections, struct perfdata_section, f->sections->len - 1);

	section->size = f->bodies->len - section->offset;
}

static void add_text_section(struct perfdata_features *f, enum perfdata_feature feature,
	const char *text)
{
	begin(f, feature);
	add_string(f, text);
	end(f);
}

/* ---- sections -------------------------------------------------------------------------------- */

static void add_build_id(struct perfdata_features *f, const struct perfdata_file *file)
{
	size_t length = strlen(file->path);
	struct perfdata_build_id entry = {
		.head = {
			.misc = (uint16_t)(PERFDATA_MISC_BUILD_ID_SIZE |
				(file->kernel ? PERFDATA_MISC_KERNEL : PERFDATA_MISC_USER)),
			.size = (uint16_t)(sizeof(entry) + pad_name(length)),
		},
		.pid = -1,
		.length = file->build_id_length,
	};

	memcpy(entry.build_id, file->build_id, sizeof(entry.build_id));
	add_bytes(f, &entry, sizeof(entry));
	add_padded(f, file->path, length, pad_name(length));
}

static void add_build_ids(struct perfdata_features *f, const struct perfdata_files *files)
{
	uint32_t i;

	begin(f, PERFDATA_FEATURE_BUILD_ID);
	for (i = 0; i < files->files->len; i++)
		add_build_id(f, &g_array_index(files->files, struct perfdata_file, i));
	end(f);
}

static void add_events(struct perfdata_features *f, const struct perfdata_survey *survey,
	const struct perfdata_attr *attrs)
{
	uint32_t i;

	begin(f, PERFDATA_FEATURE_EVENT_DESC);
	add_u32(f, survey->sources.all->len);
	add_u32(f, sizeof(struct perfdata_attr));
	for (i = 0; i < survey->sources.all->len; i++) {
		add_bytes(f, &attrs[i], sizeof(attrs[i]));
		add_u32(f, 1); /* number of ids, which follow the name */
		add_string(f, g_array_index(survey->sources.all, struct perfdata_source, i).text);
		add_u64(f, perfdata_stream_id(i));
	}
	end(f);
}

static void add_times(struct perfdata_features *f, const struct perfdata_survey *survey)
{
	const struct perfdata_section_times *last = &g_array_index(survey->sections,
		struct perfdata_section_times, survey->sections->len - 1);

	begin(f, PERFDATA_FEATURE_SAMPLE_TIME);
	add_u64(f, g_array_index(survey->sections, struct perfdata_section_times, 0).first_ns);
	add_u64(f, perfdata_survey_time(survey, survey->sections->len - 1, last->last_ns));
	end(f);
}

static void add_clock(struct perfdata_features *f, const struct perfdata_survey *survey)
{
	if (!survey->clocked)
		return;
	begin(f, PERFDATA_FEATURE_CLOCKID);
	add_u64(f, 1); /* the clock's resolution, ns */
	end(f);
	begin(f, PERFDATA_FEATURE_CLOCK_DATA);
	add_u32(f, 1); /* version of this section */
	add_u32(f, HOST_CLOCK_MONOTONIC);
	add_u64(f, survey->wall_ns);
	add_u64(f, survey->clock_ns);
	end(f);
}

/* ---- the machine ----------------------------------------------------------------------------- */

static bool is_running(const struct perfdata_file *kernel)
{
	struct proc_kernel ours;

	/*
	 * only the build-id is read: reading the symbols takes longer than writing most views
	 */
	return kernel && proc_kernel("/dev/null", NULL, &ours) == 0 &&
		kernel->build_id_length == ours.build_id_length &&
		memcmp(kernel->build_id, ours.build_id, ours.build_id_length) == 0;
}

/* Whether the capture was made on this machine since it was booted. */
static bool is_here(const struct perfdata_survey *survey, const struct host *host)
{
	uint64_t booted = survey->wall_ns - survey->clock_ns;

	return survey->clocked && booted - host->boot_wall_ns + SAME_BOOT_NS <= 2 * SAME_BOOT_NS &&
		is_running(perfdata_files_kernel(&survey->files));
}

void perfdata_features_make(struct perfdata_features *f, const struct perfdata_survey *survey,
	const struct perfdata_attr *attrs)
{
	struct host host;
	bool here;

	memset(f, 0, sizeof(*f));
	f->sections = g_array_new(FALSE, FALSE, sizeof(struct perfdata_section));
	f->bodies = g_byte_array_new();
	host_read(&host);
	here = is_here(survey, &host);
	add_build_ids(f, &survey->files);
	if (here) {
		add_text_section(f, PERFDATA_FEATURE_HOSTNAME, host.name);
		add_text_section(f, PERFDATA_FEATURE_OSRELEASE, host.release);
	}
	add_text_section(f, PERFDATA_FEATURE_VERSION, PACKAGE_STRING);
	if (here) {
		add_text_section(f, PERFDATA_FEATURE_ARCH, host.arch);
		begin(f, PERFDATA_FEATURE_NRCPUS);
		add_u32(f, host.cpus_present);
		add_u32(f, host.cpus_online);
		end(f);
	}
	add_events(f, survey, attrs);
	add_times(f, survey);
	add_clock(f, survey);
}

void perfdata_features_fini(struct perfdata_features *f)
{
	g_array_free(f->sections, TRUE);
	g_byte_array_free(f->bodies, TRUE);
}
