/* SPDX-License-Identifier: MIT */
/* fs/metrics: rows of kpstat and mpstat-raw become the text that the format requires. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fs/metrics.h"

static void check(const char *kpstat, const char *mpstat, const char *expected)
{
	struct openmetrics *metrics = metrics_create(kpstat, mpstat);
	GString *out = g_string_new("");

	openmetrics_render(metrics, out);
	openmetrics_destroy(metrics);
	assert_string_equal(out->str, expected);
	g_string_free(out, TRUE);
}

static void test_number_becomes_a_gauge(void **state)
{
	check("bytes.held 18446744073709551615\n", "",
		"# TYPE kprofs_bytes_held gauge\n"
		"# HELP kprofs_bytes_held bytes.held, see kprof(5)\n"
		"kprofs_bytes_held 18446744073709551615\n"
		"# EOF\n");
	check("", "", "# EOF\n");
}

/* Samples of one name stand together, in any order of the rows. */
static void test_samples_of_one_name_stand_together(void **state)
{
	check("event.1.cpu.0.delivered 5\nevent.1.cpu.0.lost 0\nevent.1.cpu.0.undelivered -3\n"
	      "event.1.cpu.12.delivered 6\nevent.1.cpu.12.undelivered unknown\nversion2 7\n", "",
		"# TYPE kprofs_event_cpu_delivered gauge\n"
		"# HELP kprofs_event_cpu_delivered event.N.cpu.N.delivered, see kprof(5)\n"
		"kprofs_event_cpu_delivered{event=\"1\",cpu=\"0\"} 5\n"
		"kprofs_event_cpu_delivered{event=\"1\",cpu=\"12\"} 6\n"
		"# TYPE kprofs_event_cpu_lost gauge\n"
		"# HELP kprofs_event_cpu_lost event.N.cpu.N.lost, see kprof(5)\n"
		"kprofs_event_cpu_lost{event=\"1\",cpu=\"0\"} 0\n"
		"# TYPE kprofs_event_cpu_undelivered gauge\n"
		"# HELP kprofs_event_cpu_undelivered event.N.cpu.N.undelivered, see kprof(5)\n"
		"kprofs_event_cpu_undelivered{event=\"1\",cpu=\"0\"} -3\n"
		"# TYPE kprofs_version2 gauge\n"
		"# HELP kprofs_version2 version2, see kprof(5)\n"
		"kprofs_version2 7\n"
		"# EOF\n");
}

/* 1 wait below 2 ns and 3 of 4 to 7 ns; other rows of a CPU are as ever. */
static void test_waits_become_a_histogram(void **state)
{
	const char *kpstat = "cpu.0.runqueue.log2.0 1\ncpu.0.runqueue.log2.1 0\ncpu.0.runqueue.log2.2 3\n"
		"cpu.0.runqueue.wait_ns 1500000000\ncpu.0.runqueue.waits 4\ncpu.0.switches 9\n";

	check(kpstat, "",
		"# TYPE kprofs_cpu_switches gauge\n"
		"# HELP kprofs_cpu_switches cpu.N.switches, see kprof(5)\n"
		"kprofs_cpu_switches{cpu=\"0\"} 9\n"
		"# TYPE kprofs_runqueue_wait_seconds histogram\n"
		"# HELP kprofs_runqueue_wait_seconds cpu.N.runqueue, see kprof(5)\n"
		"kprofs_runqueue_wait_seconds_bucket{cpu=\"0\",le=\"0.000000001\"} 1\n"
		"kprofs_runqueue_wait_seconds_bucket{cpu=\"0\",le=\"0.000000003\"} 1\n"
		"kprofs_runqueue_wait_seconds_bucket{cpu=\"0\",le=\"0.000000007\"} 4\n"
		"kprofs_runqueue_wait_seconds_bucket{cpu=\"0\",le=\"+Inf\"} 4\n"
		"kprofs_runqueue_wait_seconds_count{cpu=\"0\"} 4\n"
		"kprofs_runqueue_wait_seconds_sum{cpu=\"0\"} 1.500000000\n"
		"# EOF\n");
}

/* Names that differ in a byte that no metric can have are not one sample twice. */
static void test_names_of_programs_become_labels(void **state)
{
	check("probes.a-b.events 5\nprobes.a-b.run_ns 7\nprobes.a.b.run_ns not counted\n"
	      "probes.a-b.state on\nprobes.a.b.events 6\n"
	      "probes.12.events 7\n", "",
		"# TYPE kprofs_probes_events gauge\n"
		"# HELP kprofs_probes_events probes.NAME.events, see kprof(5)\n"
		"kprofs_probes_events{program=\"a-b\"} 5\n"
		"kprofs_probes_events{program=\"a.b\"} 6\n"
		"kprofs_probes_events{program=\"12\"} 7\n"
		"# TYPE kprofs_probes_run_seconds gauge\n"
		"# HELP kprofs_probes_run_seconds probes.NAME.run_ns, see kprof(5)\n"
		"kprofs_probes_run_seconds{program=\"a-b\"} 0.000000007\n"
		"# TYPE kprofs_probes_state_info gauge\n"
		"# HELP kprofs_probes_state_info probes.NAME.state, see kprof(5)\n"
		"kprofs_probes_state_info{program=\"a-b\",state=\"on\"} 1\n"
		"# EOF\n");
}

static void test_units_become_base_units(void **state)
{
	check("cpu.0.steal_ns 1500000001\nself.cpu_ns_per_sample 900\nevent.2.cpu.1.count 4\n", "",
		"# TYPE kprofs_cpu_steal_seconds gauge\n"
		"# HELP kprofs_cpu_steal_seconds cpu.N.steal_ns, see kprof(5)\n"
		"kprofs_cpu_steal_seconds{cpu=\"0\"} 1.500000001\n"
		"# TYPE kprofs_event_cpu_count_value gauge\n"
		"# HELP kprofs_event_cpu_count_value event.N.cpu.N.count, see kprof(5)\n"
		"kprofs_event_cpu_count_value{event=\"2\",cpu=\"1\"} 4\n"
		"# TYPE kprofs_self_cpu_seconds_per_sample gauge\n"
		"# HELP kprofs_self_cpu_seconds_per_sample self.cpu_ns_per_sample, see kprof(5)\n"
		"kprofs_self_cpu_seconds_per_sample 0.000000900\n"
		"# EOF\n");
}

static void test_texts_become_labels(void **state)
{
	check("event.1.text a \"b\" \\\xff 5\nversion 0.1.0\n", "",
		"# TYPE kprofs_event_text_info gauge\n"
		"# HELP kprofs_event_text_info event.N.text, see kprof(5)\n"
		"kprofs_event_text_info{event=\"1\",text=\"a \\\"b\\\" \\\\x5c\\\\xff 5\"} 1\n"
		"# TYPE kprofs_version_info gauge\n"
		"# HELP kprofs_version_info version, see kprof(5)\n"
		"kprofs_version_info{version=\"0.1.0\"} 1\n"
		"# EOF\n");
}

/* The layout is that of kprof(5): a header, then a line for each CPU, in hexadecimal. */
static void test_mpstat_becomes_seconds(void **state)
{
	check("", "v001     2       1000000000    irq   kern   user   idle\n"
		  "    0:         3b9aca00        77359401                0      2540be400\n"
		  "   12:                1               2                3              4\n",
		"# TYPE kprofs_mpstat_seconds gauge\n"
		"# HELP kprofs_mpstat_seconds mpstat, see kprof(5)\n"
		"kprofs_mpstat_seconds{cpu=\"0\",state=\"irq\"} 1.000000000\n"
		"kprofs_mpstat_seconds{cpu=\"0\",state=\"kern\"} 2.000000001\n"
		"kprofs_mpstat_seconds{cpu=\"0\",state=\"user\"} 0.000000000\n"
		"kprofs_mpstat_seconds{cpu=\"0\",state=\"idle\"} 10.000000000\n"
		"kprofs_mpstat_seconds{cpu=\"12\",state=\"irq\"} 0.000000001\n"
		"kprofs_mpstat_seconds{cpu=\"12\",state=\"kern\"} 0.000000002\n"
		"kprofs_mpstat_seconds{cpu=\"12\",state=\"user\"} 0.000000003\n"
		"kprofs_mpstat_seconds{cpu=\"12\",state=\"idle\"} 0.000000004\n"
		"# EOF\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_number_becomes_a_gauge),
		cmocka_unit_test(test_samples_of_one_name_stand_together),
		cmocka_unit_test(test_waits_become_a_histogram),
		cmocka_unit_test(test_names_of_programs_become_labels),
		cmocka_unit_test(test_units_become_base_units),
		cmocka_unit_test(test_texts_become_labels),
		cmocka_unit_test(test_mpstat_becomes_seconds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
