/* SPDX-License-Identifier: MIT */
/* A capture as a perf.data file: see perfdata.h; its parts: see perfdata_format.h. */
#include "formats/perfdata/perfdata.h"

#include <errno.h>
#include <string.h>

#include "formats/perfdata/perfdata_features.h"
#include "formats/perfdata/perfdata_format.h"
#include "formats/perfdata/perfdata_stream.h"
#include "sys/host.h"

static struct perfdata_attr make_attr(const struct perfdata_survey *survey,
	const struct perfdata_source *source)
{
	struct perfdata_attr attr = {
		.type = source->perf_type,
		.size = sizeof(attr),
		.config = source->config,
		.config1 = source->config1,
		.config2 = source->config2,
		.rate = source->rate,
		.sample_type = PERFDATA_SAMPLE_TYPE |
			(survey->stacks ? PERFDATA_SAMPLE_CALLCHAIN : 0),
		.flags = perfdata_flag(PERFDATA_MMAP) | perfdata_flag(PERFDATA_MMAP2) |
			perfdata_flag(PERFDATA_COMM) | perfdata_flag(PERFDATA_TASK) |
			perfdata_flag(PERFDATA_SAMPLE_ID_ALL),
	};

	/* perf refuses a file with a tracepoint that has no description of its fields */
	if (attr.type == PERFDATA_TYPE_TRACEPOINT) {
		attr.type = PERFDATA_TYPE_SOFTWARE;
		attr.config = PERFDATA_SOFTWARE_DUMMY;
		attr.config1 = attr.config2 = 0;
	}
	if (source->flags & KPROF_EVENT_FREQ)
		attr.flags |= perfdata_flag(PERFDATA_FREQ);
	if (source->flags & (KPROF_EVENT_SCOPE_USER | KPROF_EVENT_SCOPE_OWN))
		attr.flags |= perfdata_flag(PERFDATA_EXCLUDE_KERNEL);
	if (survey->clocked) {
		attr.flags |= perfdata_flag(PERFDATA_USE_CLOCKID);
		attr.clockid = HOST_CLOCK_MONOTONIC;
	}
	return attr;
}

/* Up to the data. */
static void write_header(struct perfdata_out *out, const struct perfdata_survey *survey,
	const struct perfdata_features *features, const struct perfdata_attr *attrs,
	uint64_t data_bytes)
{
	uint32_t count = survey->sources.all->len, i;
	uint64_t ids = sizeof(struct perfdata_header) + count * sizeof(struct perfdata_attr_entry);
	struct perfdata_header header = {
		.magic = PERFDATA_MAGIC,
		.size = sizeof(header),
		.attr_size = sizeof(struct perfdata_attr_entry),
		.attrs = { sizeof(header), count * sizeof(struct perfdata_attr_entry) },
		.data = { ids + count * sizeof(uint64_t), data_bytes },
	};

	memcpy(header.features, features->bits, sizeof(header.features));
	perfdata_out_add(out, &header, sizeof(header));
	for (i = 0; i < count; i++) {
		struct perfdata_attr_entry entry = {
			.attr = attrs[i],
			.ids = { ids + i * sizeof(uint64_t), sizeof(uint64_t) },
		};

		perfdata_out_add(out, &entry, sizeof(entry));
	}
	for (i = 0; i < count; i++) {
		uint64_t id = perfdata_stream_id(i);

		perfdata_out_add(out, &id, sizeof(id));
	}
}

static void write_features(struct perfdata_out *out, const struct perfdata_features *features)
{
	uint64_t at = out->written + features->sections->len * sizeof(struct perfdata_section);
	uint32_t i;

	for (i = 0; i < features->sections->len; i++) {
		struct perfdata_section section =
			g_array_index(features->sections, struct perfdata_section, i);

		section.offset += at;
		perfdata_out_add(out, &section, sizeof(section));
	}
	perfdata_out_flush(out);
	(void)!fwrite(features->bodies->data, 1, features->bodies->len, out->file);
}

static int write_file(const struct view_input *input, struct perfdata_survey *survey, FILE *file,
	struct err *err)
{
	g_autofree struct perfdata_attr *attrs =
		g_new(struct perfdata_attr, survey->sources.all->len);
	struct perfdata_out *out = g_new(struct perfdata_out, 1);
	struct perfdata_features features;
	uint32_t i;
	int ret;

	out->file = file;
	out->used = 0;
	out->written = 0;
	for (i = 0; i < survey->sources.all->len; i++)
		attrs[i] = make_attr(survey,
			&g_array_index(survey->sources.all, struct perfdata_source, i));
	perfdata_features_make(&features, survey, attrs);
	write_header(out, survey, &features, attrs, perfdata_stream_bytes(survey));
	ret = perfdata_stream_write(survey, input, out, err);
	if (!ret)
		write_features(out, &features);
	perfdata_features_fini(&features);
	g_free(out);
	return ret;
}

int perfdata_write(const struct view_input *input, FILE *out, struct err *err)
{
	struct perfdata_survey survey;
	int ret;

	ret = perfdata_survey_make(&survey, input, err);
	if (!ret && !survey.samples)
		ret = err_set(err, ENODATA, "there are no samples");
	if (!ret)
		ret = write_file(input, &survey, out, err);
	perfdata_survey_fini(&survey);
	return ret;
}
