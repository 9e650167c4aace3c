/* SPDX-License-Identifier: MIT */
/* The subcommands of kprof: one file cmd_NAME.c and one row of main.c's table each. */
#ifndef KPROFS_CMD_COMMANDS_H
#define KPROFS_CMD_COMMANDS_H

#include "cmd/cmd.h"

extern const struct command cmd_annotate;
extern const struct command cmd_convert;
extern const struct command cmd_ctl;
extern const struct command cmd_doctor;
extern const struct command cmd_dump;
extern const struct command cmd_flame;
extern const struct command cmd_list;
extern const struct command cmd_mark;
extern const struct command cmd_probe;
extern const struct command cmd_record;
extern const struct command cmd_report;
extern const struct command cmd_script;
extern const struct command cmd_stat;
extern const struct command cmd_top;
extern const struct command cmd_trace;

#endif
