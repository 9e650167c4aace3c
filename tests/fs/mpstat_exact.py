#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""mpstat_exact.py MOUNT BETWEEN: each row of mpstat-raw adds up with its steal to the time that passed, at every
reading, and never goes back, whatever the source; and a program that sleeps at each tick is not counted as idle.

The bounds follow from the definition: they hold on a machine of any load. A reading lies between two looks at the
clock, and its steal between two readings of kpstat."""
import os
import re
import subprocess
import sys
import time

mount, between = sys.argv[1:3]
failures = 0
CPU = min(os.sched_getaffinity(0))
SHARE = 0.001  # by how much a row may miss the time that passed


def fail(text):
    global failures
    failures += 1
    print("FAIL:", text)


def read(name):
    with open(os.path.join(mount, name), encoding="ascii") as file:
        return file.read()


def put(name, word):
    with open(os.path.join(mount, name), "wb", buffering=0) as file:
        file.write(word.encode() + b"\n")


def steal():
    return {int(cpu): int(ns) for cpu, ns in re.findall(r"^cpu\.(\d+)\.steal_ns (\d+)$", read("kpstat"), re.M)}


def online():
    with open("/proc/stat", encoding="ascii") as file:
        return {int(cpu) for cpu in re.findall(r"^cpu(\d+) ", file.read(), re.M)}


def rows():
    return {int(cpu): [int(word, 16) for word in words.split()]
            for cpu, words in re.findall(r"^ *(\d+): (.*)$", read("mpstat-raw"), re.M)}


class Span:
    """From a reset on."""

    def __init__(self, what):
        self.what = what
        self.last = {}
        self.before = time.monotonic_ns()
        put("mpstat", "reset")
        self.after = time.monotonic_ns()

    def look(self):
        cpus = online()
        stolen = steal()
        before = time.monotonic_ns()
        found = rows()
        after = time.monotonic_ns()
        stolen_later = steal()
        for cpu, row in found.items():
            if any(now < then for now, then in zip(row, self.last.get(cpu, row))):
                fail(f"{self.what}: CPU {cpu} went back from {self.last[cpu]} to {row}")
            if cpu not in cpus:
                continue
            least, most = before - self.after, after - self.before
            if sum(row) + stolen_later[cpu] < least * (1 - SHARE) or sum(row) + stolen[cpu] > most * (1 + SHARE):
                fail(f"{self.what}: CPU {cpu}: {row}, in all {sum(row)}, with steal of {stolen[cpu]} to "
                     f"{stolen_later[cpu]}, not from {least} to {most}")
        self.last = found
        return found


def load():
    """A program that computes, one that calls the kernel, and one that sleeps."""
    return [subprocess.Popen(["sh", "-c", command], stdout=subprocess.DEVNULL) for command in (
        "while :; do :; done", "exec dd if=/dev/zero of=/dev/null bs=64 status=none",
        "while :; do sleep 0.002; done")]


def end(programs):
    for program in programs:
        program.kill()
        program.wait()


def adds_up(what, readings=15):
    programs = load()
    try:
        span = Span(what)
        for _ in range(readings):
            span.look()
        end(programs)
        programs = []
        for _ in range(readings):
            span.look()
    finally:
        end(programs)


def finds_what_runs_between_ticks():
    span = Span("between ticks")
    first = span.look()[CPU]
    start = time.monotonic_ns()
    program = subprocess.Popen([between, str(CPU), "2000"], stdout=subprocess.PIPE)
    ran, took = map(int, program.communicate(timeout=120)[0].split())
    lived = time.monotonic_ns() - start
    last = span.look()[CPU]
    passed, idle = sum(last) - sum(first), last[3] - first[3]
    print(f"ran {ran} of {took} ns: idle {idle} of {passed}")
    if ran < took // 10:
        fail(f"the program ran for {ran} of {took} ns only, which proves little")
    if idle > passed - ran + ran // 100:
        fail(f"of {passed} ns a program ran {ran} ns, and CPU {CPU} is shown idle for {idle} ns")
    # In all that time it was on a CPU, or waited for one, or slept.
    found = re.search(rf"^ *{program.pid} +1 ([0-9. ]+) between$", read("views/sched"), re.M)
    if not found:
        fail(f"no line for process {program.pid} in {read('views/sched')}")
        return
    columns = [float(word) * 1e9 for word in found[1].split()]
    on_cpu, runnable, sleeping, blocked, unknown = columns[:5]
    print(f"sched: {found[0]}")
    if on_cpu + runnable + unknown < ran * 0.99:
        fail(f"it ran for {ran} ns, waiting included, and is shown with {on_cpu} ns and {runnable} ns of waiting")
    # what it did before and behind the time that it measured
    if on_cpu > ran * 1.01 + lived - took:
        fail(f"it ran for {ran} ns, waiting included, and is shown with {on_cpu} ns on a CPU")
    if not took * 0.99 <= on_cpu + runnable + sleeping + blocked + unknown <= lived * 1.01:
        fail(f"it took {took} ns and lived {lived} ns at most: {found[0]}")
    if sleeping + blocked > lived - ran * 0.99:
        fail(f"it slept for {lived - ran} ns at most: {found[0]}")


def asked():
    return int(re.search(r"^mpstat\.asked (\d+)$", read("kpstat"), re.M)[1])


# By a CPU that spends the time between two readings in one state: it waits, or this program runs on it.
def asks_cpus():
    for word in ("source bpf", "ipi on"):
        put("mpstat", word)
    first = asked()
    end = time.monotonic() + 60
    while asked() == first and time.monotonic() < end:
        pass
    if asked() == first:
        fail("with ipi on no reading asks a CPU")
    put("mpstat", "ipi off")
    first = asked()
    for _ in range(200):
        rows()
    if asked() != first:
        fail("with ipi off readings ask CPUs")
    put("mpstat", "ipi on")


for words in (["source procstat"], ["source bpf"], ["source bpf", "split calls"], ["split ticks"]):
    for word in words:
        put("mpstat", word)
    said = dict(line.split(" ", 1) for line in read("kpstat").splitlines())
    if said["mpstat.source"] != ("procstat" if words == ["source procstat"] else "bpf"):
        fail(f"{words}: mpstat.source {said['mpstat.source']}")
    if (said["mpstat.split"] == "calls") != ("split calls" in words):
        fail(f"{words}: mpstat.split {said['mpstat.split']}")
    adds_up(" ".join(words))

asks_cpus()

# from one source to the other without a jump
span = Span("changing sources")
for word in ("source procstat", "source bpf", "split calls", "source auto", "split ticks"):
    for _ in range(5):
        span.look()
    put("mpstat-raw", word)
span.look()

finds_what_runs_between_ticks()
sys.exit(failures != 0)
