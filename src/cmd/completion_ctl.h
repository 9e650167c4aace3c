/* SPDX-License-Identifier: MIT */
/*
 * What a shell completes after `kprof ctl`: control files, their words, and the arguments of these.
 * They come from the table of kprofs, by its hidden --dump-words.
 */
#ifndef KPROFS_CMD_COMPLETION_CTL_H
#define KPROFS_CMD_COMPLETION_CTL_H

#include "cmd/completion_offer.h"

/* The files of the mount that can be written; without a mount those that have words. */
void completion_ctl_files(struct completion *completion);

/* The words of completion->file, or the arguments of completion->word. */
void completion_ctl_words(struct completion *completion);

#endif
