/* SPDX-License-Identifier: MIT */
/* The events that libpfm4 knows, as a list for users: pfm_list() of pfm.h. */
#include "sys/pfm.h"

#include <string.h>

#include "sys/pfm_library.h"

/* No event has more attributes; further ones are left out. */
#define ATTRS_MAX 128

static enum pfm_attr_kind kind_of(pfm_attr_t type)
{
	if (type == PFM_ATTR_UMASK)
		return PFM_UNIT_MASK;
	return type == PFM_ATTR_MOD_BOOL ? PFM_SWITCH : PFM_NUMBER;
}

static const char *or_empty(const char *text)
{
	return text ? text : "";
}

static size_t get_attrs(const pfm_event_info_t *event, struct pfm_listed_attr *attrs)
{
	size_t count = 0;
	int i;

	for (i = 0; i < event->nattrs && count < ATTRS_MAX; i++) {
		pfm_event_attr_info_t attr = { .size = sizeof(attr) };

		if (pfm_library_attr_info(event->idx, i, &attr) !=
			PFM_SUCCESS)
			continue;
		attrs[count++] = (struct pfm_listed_attr){
			.kind = kind_of(attr.type),
			.name = attr.name,
			.text = or_empty(attr.desc),
			.is_default = attr.type == PFM_ATTR_UMASK && attr.is_dfl,
		};
	}
	return count;
}

static int list_pmu(const pfm_pmu_info_t *pmu, int (*event)(void *, const struct pfm_listed *),
	void *arg)
{
	struct pfm_listed_attr attrs[ATTRS_MAX];
	int i, ret = 0;

	for (i = pmu->first_event; i != -1 && !ret; i = pfm_library_next_event(i)) {
		pfm_event_info_t info = { .size = sizeof(info) };
		struct pfm_listed listed = {
			.pmu = pmu->name,
			.pmu_text = or_empty(pmu->desc),
			.present = pmu->is_present,
			.generic = pmu->type == PFM_PMU_TYPE_OS_GENERIC,
			.attrs = attrs,
		};

		if (pfm_library_event_info(i, &info) != PFM_SUCCESS)
			continue;
		listed.name = info.name;
		listed.text = or_empty(info.desc);
		listed.attr_count = get_attrs(&info, attrs);
		ret = event(arg, &listed);
	}
	return ret;
}

int pfm_list(bool all, int (*event)(void *arg, const struct pfm_listed *listed), void *arg,
	struct err *err)
{
	int i, ret = pfm_library_enter(err);

	if (ret)
		return ret;
	pfm_for_all_pmus(i)
	{
		pfm_pmu_info_t pmu = { .size = sizeof(pmu) };

		if (ret || pfm_library_pmu_info(i, &pmu) != PFM_SUCCESS || !(all || pmu.is_present))
			continue;
		ret = list_pmu(&pmu, event, arg);
	}
	pfm_library_leave();
	return ret;
}

int pfm_probe(struct err *err)
{
	int ret = pfm_library_enter(err);

	if (!ret)
		pfm_library_leave();
	return ret;
}
