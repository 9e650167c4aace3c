/* SPDX-License-Identifier: MIT */
/* Work that several threads do together: see parallel.h. */
#include "base/parallel.h"

#include <glib.h>
#include <pthread.h>
#include <stdbool.h>

struct worker {
	pthread_t thread;
	bool runs;
	unsigned int number;
	const char *name;
	void (*work)(void *arg, unsigned int n);
	void *arg;
};

unsigned int parallel_threads(void)
{
	return CLAMP(g_get_num_processors(), 1, PARALLEL_THREADS_MAX);
}

static void *run_worker(void *arg)
{
	const struct worker *worker = arg;

	pthread_setname_np(pthread_self(), worker->name);
	worker->work(worker->arg, worker->number);
	return NULL;
}

void parallel_run(const char *name, unsigned int threads, void (*work)(void *arg, unsigned int n),
	void *arg)
{
	struct worker workers[PARALLEL_THREADS_MAX - 1] = {0};
	unsigned int others = CLAMP(threads, 1, PARALLEL_THREADS_MAX) - 1;

	for (unsigned int i = 0; i < others; i++) {
		workers[i] = (struct worker){
			.number = i + 1, .name = name, .work = work, .arg = arg};
		workers[i].runs =
			!pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]);
	}
	work(arg, 0);
	for (unsigned int i = 0; i < others; i++)
		if (workers[i].runs)
			pthread_join(workers[i].thread, NULL);
}
