#!/bin/bash
# SPDX-License-Identifier: MIT
# preempt: this kernel preempts threads in itself (preempt=full), which the tests behind this one are for.
mount -t debugfs debug /sys/kernel/debug 2>/dev/null
mode=$(cat /sys/kernel/debug/sched/preempt)
echo "preemption: $mode"
[[ $mode == *"(full)"* ]]
