/* SPDX-License-Identifier: MIT */
/*
 * `only` for samples that programs of probes/ take (sample()). Their instructions can't be exchanged while
 * they are attached, so they carry out steps that a map has: one for each operator of the expression. The map
 * is replaced as a whole: a sample is checked by all steps of before, or all of after.
 *
 * The control thread makes and changes it.
 */
#ifndef KPROFS_PROF_ONLY_STEPS_H
#define KPROFS_PROF_ONLY_STEPS_H

#include "base/err.h"
#include "bpf/code.h"
#include "prof/only.h"

/* An expression may have so many operators, comparisons included, and compare with so many cgroups. */
#define ONLY_STEPS_MAX 64u
#define ONLY_CGROUPS_MAX 4u

struct only_steps;

/* Nothing is checked at first. 20..30 ms. -EOPNOTSUPP, -EPERM, -ENOMEM */
int only_steps_create(struct only_steps **steps, struct err *err);
/* NULL is allowed. */
void only_steps_destroy(struct only_steps *steps);

/*
 * From now on this expression is checked; NULL: none. -E2BIG if it has more steps or cgroups than that,
 * -ENOMEM: the one before stays.
 */
int only_steps_set(struct only_steps *steps, const struct only *only, struct err *err);

/*
 * Instructions that go to the label `refused` if the expression does not hold for the task that runs. R0 to
 * R5 and R7 are lost.
 */
void only_steps_emit(const struct only_steps *steps, struct code *code, int refused);

#endif
