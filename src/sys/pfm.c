/* SPDX-License-Identifier: MIT */
/*
 * libpfm4: see pfm.h. All functions that are called between pfm_library_enter() and
 * pfm_library_leave() run with the lock held and the library initialised.
 */
#include "sys/pfm.h"
#include "sys/pfm_library.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define PMU_SEPARATOR "::"
#define ATTR_SEPARATORS ":." /* libpfm4 takes both */
#define PERF_PMU "perf"	     /* always there: event_parse.c knows its events without libpfm4, too */

/* The parts of PMU::EVENT:ATTRIBUTE:... */
struct parts {
	char pmu[NEAREST_NAME_MAX]; /* "" when not given */
	char event[NEAREST_NAME_MAX];
	const char *attrs; /* in the text, "" or beginning with a separator */
};

static void copy_part(char *to, const char *from, size_t length)
{
	if (length >= NEAREST_NAME_MAX)
		length = NEAREST_NAME_MAX - 1;
	memcpy(to, from, length);
	to[length] = '\0';
}

static void take_apart(const char *text, struct parts *parts)
{
	const char *separator = strstr(text, PMU_SEPARATOR);
	size_t length;

	parts->pmu[0] = '\0';
	if (separator) {
		copy_part(parts->pmu, text, separator - text);
		text = separator + strlen(PMU_SEPARATOR);
	}
	length = strcspn(text, ATTR_SEPARATORS);
	copy_part(parts->event, text, length);
	parts->attrs = text + length;
}

/* Returns whether libpfm4 accepts the text: some events need a unit mask. */
static bool is_encodable(const char *text)
{
	struct perf_event_attr attr = { 0 };
	pfm_perf_encode_arg_t arg = { .attr = &attr, .size = sizeof(arg), .cpu = -1 };

	return pfm_library_encode(text, &arg) == PFM_SUCCESS;
}

/* Offers an event in a form that is accepted: its name, else with the first unit mask that is. */
static void offer_event(const pfm_event_info_t *event, const char *prefix, const char *name,
	struct nearest *nearest)
{
	char text[NEAREST_NAME_MAX];
	int i;

	if (!nearest_wants(nearest, name))
		return;
	if (snprintf(text, sizeof(text), "%s%s", prefix, name) >= (int)sizeof(text))
		return;
	for (i = 0; !is_encodable(text); i++) {
		pfm_event_attr_info_t attr = { .size = sizeof(attr) };

		if (i >= event->nattrs ||
			pfm_library_attr_info(event->idx, i, &attr) !=
				PFM_SUCCESS ||
			attr.type != PFM_ATTR_UMASK ||
			snprintf(text, sizeof(text), "%s%s:%s", prefix, name, attr.name) >=
				(int)sizeof(text))
			return;
	}
	nearest_offer_text(nearest, name, text);
}

/* Offers the events of one PMU; perf's generic ones in lower case, as users write them. */
static void offer_events(const pfm_pmu_info_t *pmu, const char *prefix, struct nearest *nearest)
{
	char name[NEAREST_NAME_MAX];
	int event;
	size_t i;

	for (event = pmu->first_event; event != -1; event = pfm_library_next_event(event)) {
		pfm_event_info_t info = { .size = sizeof(info) };

		if (pfm_library_event_info(event, &info) != PFM_SUCCESS)
			continue;
		copy_part(name, info.name, strlen(info.name));
		if (pmu->type == PFM_PMU_TYPE_OS_GENERIC && strncmp(name, "PERF_", 5))
			for (i = 0; name[i]; i++)
				name[i] = tolower((unsigned char)name[i]);
		offer_event(&info, prefix, name, nearest);
	}
}

/* Appends ", NAME" to a list in buf; names that don't fit are replaced by dots. */
static void append_name(char *buf, size_t size, const char *name)
{
	static const char dots[] = ", ...";
	const size_t length = strlen(buf);

	if (length + strlen(", ") + strlen(name) + sizeof(dots) <= size)
		snprintf(buf + length, size - length, ", %s", name);
	else if (length < sizeof(dots) || strcmp(buf + length - strlen(dots), dots))
		snprintf(buf + length, size - length, "%s", dots);
}

/* Returns whether PMU number i exists in this machine (or was forced), and describes it. */
static bool get_pmu(int i, pfm_pmu_info_t *pmu)
{
	memset(pmu, 0, sizeof(*pmu));
	pmu->size = sizeof(*pmu);
	return pfm_library_pmu_info(i, pmu) == PFM_SUCCESS && pmu->is_present;
}

static int refuse_event(const struct parts *parts, struct err *err)
{
	char present[200] = PERF_PMU;
	pfm_pmu_info_t pmu;
	int i;

	if (!parts->pmu[0] || !strcasecmp(parts->pmu, PERF_PMU))
		return -ESRCH;
	pfm_for_all_pmus(i)
	{
		if (!get_pmu(i, &pmu))
			continue;
		if (!strcasecmp(parts->pmu, pmu.name))
			return -ESRCH;
		if (strcasecmp(pmu.name, PERF_PMU))
			append_name(present, sizeof(present), pmu.name);
	}
	return err_set(err, ENOENT, "no PMU '%s' here; there are: %s", parts->pmu, present);
}

void pfm_nearest(const char *text, struct nearest *nearest)
{
	char prefix[NEAREST_NAME_MAX + sizeof(PMU_SEPARATOR)] = "";
	struct parts parts;
	pfm_pmu_info_t pmu;
	int i;

	if (pfm_library_enter(NULL))
		return;
	take_apart(text, &parts);
	if (parts.pmu[0])
		snprintf(prefix, sizeof(prefix), "%s" PMU_SEPARATOR, parts.pmu);
	pfm_for_all_pmus(i)
	{
		if (get_pmu(i, &pmu) && (!parts.pmu[0] || !strcasecmp(parts.pmu, pmu.name)))
			offer_events(&pmu, prefix, nearest);
	}
	pfm_library_leave();
}

const char *pfm_event_name(const char *text, char *buf, size_t size)
{
	struct parts parts;

	take_apart(text, &parts);
	snprintf(buf, size, "%s", parts.event);
	return buf;
}

/*
 * Whether the event has an attribute with this name (length bytes); if not, its unit masks are
 * offered.
 */
static bool find_attr(const pfm_event_info_t *event, const char *name, size_t length,
	struct nearest *nearest, bool *has_umasks)
{
	int i;

	for (i = 0; i < event->nattrs; i++) {
		pfm_event_attr_info_t attr = { .size = sizeof(attr) };

		if (pfm_library_attr_info(event->idx, i, &attr) !=
			PFM_SUCCESS)
			continue;
		if (strlen(attr.name) == length && !strncasecmp(attr.name, name, length))
			return true;
		if (attr.type == PFM_ATTR_UMASK) {
			*has_umasks = true;
			nearest_offer(nearest, attr.name);
		}
	}
	return false;
}

/* Finds the first unit mask or modifier that the event does not have, and names it in the error. */
static int refuse_attr(const char *text, const struct parts *parts, struct err *err)
{
	char near[NEAREST_TEXT_MAX], name[NEAREST_NAME_MAX];
	char event_name[2 * NEAREST_NAME_MAX + sizeof(PMU_SEPARATOR)];
	pfm_event_info_t event = { .size = sizeof(event) };
	const char *at = parts->attrs;
	struct nearest nearest;
	int index;

	snprintf(event_name, sizeof(event_name), "%s%s%s", parts->pmu,
		parts->pmu[0] ? PMU_SEPARATOR : "", parts->event);
	index = pfm_library_find_event(event_name);
	if (index < 0 ||
		pfm_library_event_info(index, &event) != PFM_SUCCESS)
		return err_set(err, EINVAL, "'%s': invalid unit mask or modifier", text);
	while (*at) {
		size_t length = strcspn(++at, ATTR_SEPARATORS);
		size_t name_length = strcspn(at, ATTR_SEPARATORS "=");
		bool has_umasks = false;

		copy_part(name, at, name_length);
		nearest_init(&nearest, name);
		if (!find_attr(&event, at, name_length, &nearest, &has_umasks))
			return err_set(err, has_umasks && name_length == length ? ENOENT : EINVAL,
				"event %s has no %s'%s'%s", event_name,
				has_umasks ? "unit mask or modifier " : "modifier ", name,
				nearest_text(&nearest, near, sizeof(near)));
		at += length;
	}
	return err_set(err, EINVAL, "'%s': invalid unit mask or modifier", text);
}

/* Names the unit masks of an event that needs one and has none, as far as they fit; else `ret` in words. */
static int refuse_missing_mask(const char *text, const struct parts *parts, int ret, struct err *err)
{
	char event_name[2 * NEAREST_NAME_MAX + sizeof(PMU_SEPARATOR)], masks[200] = "";
	pfm_event_info_t event = { .size = sizeof(event) };
	int index, i;

	snprintf(event_name, sizeof(event_name), "%s%s%s", parts->pmu,
		parts->pmu[0] ? PMU_SEPARATOR : "", parts->event);
	index = pfm_library_find_event(event_name);
	if (*parts->attrs || index < 0 ||
		pfm_library_event_info(index, &event) != PFM_SUCCESS)
		return err_set(err, EINVAL, "'%s': %s", text, pfm_library_strerror(ret));
	for (i = 0; i < event.nattrs; i++) {
		pfm_event_attr_info_t attr = { .size = sizeof(attr) };

		if (pfm_library_attr_info(event.idx, i, &attr) ==
				PFM_SUCCESS && attr.type == PFM_ATTR_UMASK)
			append_name(masks, sizeof(masks), attr.name);
	}
	return err_set(err, EINVAL, "event %s needs a unit mask; there are: %s", event_name,
		masks[0] ? masks + strlen(", ") : "none is known");
}

/* Turns an error of libpfm4 into a sentence. */
static int refuse(int ret, const char *text, struct err *err)
{
	struct parts parts;

	take_apart(text, &parts);
	switch (ret) {
	case PFM_ERR_NOTFOUND:
		return refuse_event(&parts, err);
	case PFM_ERR_ATTR:
		return refuse_attr(text, &parts, err);
	case PFM_ERR_UMASK:
		return refuse_missing_mask(text, &parts, ret, err);
	case PFM_ERR_NOMEM:
		return err_set(err, ENOMEM, "'%s': out of memory", text);
	case PFM_ERR_NOTSUPP:
		return err_set(err, EOPNOTSUPP, "'%s': not supported here", text);
	default:
		return err_set(err, EINVAL, "'%s': %s", text, pfm_library_strerror(ret));
	}
}

static void take_over(const pfm_perf_encode_arg_t *arg, struct pfm_encoding *encoding)
{
	const struct perf_event_attr *attr = arg->attr;

	memset(encoding, 0, sizeof(*encoding));
	encoding->type = attr->type;
	encoding->config = attr->config;
	encoding->config1 = attr->config1;
	encoding->config2 = attr->config2;
	encoding->rate = attr->sample_period; /* one word with sample_freq */
	encoding->is_freq = attr->freq;
	encoding->exclude_user = attr->exclude_user;
	encoding->exclude_kernel = attr->exclude_kernel;
	encoding->exclude_hv = attr->exclude_hv;
	encoding->exclude_host = attr->exclude_host;
	encoding->exclude_guest = attr->exclude_guest;
	encoding->precise_ip = attr->precise_ip;
	encoding->pinned = attr->pinned;
	encoding->exclusive = attr->exclusive;
	encoding->cpu = arg->cpu;
}

int pfm_encode(const char *text, struct pfm_encoding *encoding, struct err *err)
{
	struct perf_event_attr attr;
	pfm_perf_encode_arg_t arg = { .attr = &attr, .size = sizeof(arg), .cpu = -1 };
	int ret;

	memset(&attr, 0, sizeof(attr));
	ret = pfm_library_enter(err);
	if (ret)
		return ret;
	ret = pfm_library_encode(text, &arg);
	if (ret == PFM_SUCCESS) {
		take_over(&arg, encoding);
		ret = 0;
	} else {
		ret = refuse(ret, text, err);
	}
	pfm_library_leave();
	return ret;
}
