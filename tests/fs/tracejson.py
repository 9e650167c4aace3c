# SPDX-License-Identifier: MIT
"""tracejson.py FILE: checks a trace against the Trace Event Format (its object form; metadata events,
instants, complete events, begins, counters and stack frames, which are all that is in it), and prints what is in it:

    other NAME VALUE
    process PID NAME, thread PID TID NAME
    mark LINE          an event of the trace, as kptrace shows it
    span PID TID NAME TS DURATION     an event of the trace that lasted for a time
    slice CPU TID NAME TS DURATION    what ran on a CPU
    open PID TID NAME TEXT            a span without an end
    counter PID NAME VALUE
    sample PID TID CATEGORY CPU WEIGHT FILE OUTERMOST;...;INNERMOST COUNT FIRST-TS
"""
import decimal
import json
import sys


def need(fact, what):
    if not fact:
        sys.exit("trace.json: " + what)


def check_frames(frames):
    for key, frame in frames.items():
        need(set(frame) <= {"name", "category", "parent"}, "members of a frame")
        need(type(frame["name"]) is str and type(frame["category"]) is str, "a frame's name")
        need("parent" not in frame or frame["parent"] in frames, "the parent of frame " + key)


def stack_of(frames, key):
    names = []
    while key is not None:
        need(len(names) < 100000, "frames that go round")
        names.append(frames[key]["name"])
        key = frames[key].get("parent")
    return names


def end_of(event):
    return event["ts"] + event.get("dur", 0)


def check_nesting(spans):
    """Complete events of one thread are one behind the other, or one within the other."""
    open_ends = []
    for begin, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        while open_ends and open_ends[-1] <= begin:
            open_ends.pop()
        need(not open_ends or end <= open_ends[-1], "spans that overlap")
        open_ends.append(end)


def mark(event, processes):
    """The lines of kptrace. A text of a program is called by itself, and so is what has no process. The
    callers of a kprof_backtrace have their names, as `kprof trace` shows them."""
    ns = int(end_of(event) * 1000)
    args = event["args"]
    line = "[%d.%09d]:cpu%s: " % (ns // 10**9, ns % 10**9, args.get("cpu", "?"))
    if event.get("s") == "g":
        need(event["pid"] == 0 and event["tid"] == 0, "pid and tid of what has no process")
        return line + event["name"]
    need(event["pid"] in processes, "a process without a name")
    thread = "" if event["pid"] == event["tid"] else "/%d" % event["tid"]
    line += "%s[%d%s]" % (processes[event["pid"]] if event["pid"] else "", event["pid"], thread)
    if "text" in args:
        return "%s %s: %s" % (line, event["name"], args["text"])
    need(all(type(caller) is str for caller in args.get("stack", [])), "a stack")
    return "\n".join("%s: %s" % (line, text)
                     for text in [event["name"]] + ["  " + caller for caller in args.get("stack", [])])


def main():
    sys.stdout.reconfigure(encoding="utf-8")
    with open(sys.argv[1], encoding="utf-8") as file:
        trace = json.load(file, parse_float=decimal.Decimal)
    need(set(trace) == {"displayTimeUnit", "otherData", "traceEvents", "stackFrames"}, "its members")
    need(trace["displayTimeUnit"] == "ns", "displayTimeUnit")
    frames = trace["stackFrames"]
    check_frames(frames)
    samples, used, processes, spans = {}, set(), {}, {}
    for name, value in trace["otherData"].items():
        print("other", name, value)
    for event in trace["traceEvents"]:
        need(type(event["pid"]) is int and type(event["tid"]) is int, "pid and tid")
        if event["ph"] == "M":
            need(event["name"] in ("process_name", "thread_name"), "a metadata event")
            ids = [event["pid"]] + ([event["tid"]] if event["name"] == "thread_name" else [])
            if event["name"] == "process_name":
                processes[event["pid"]] = event["args"]["name"]
            print(event["name"].split("_")[0], *ids, event["args"]["name"])
            continue
        need(type(event["name"]) is str and type(event["cat"]) is str, "name or category")
        need(type(event["ts"]) is decimal.Decimal, "ts")
        if event["ph"] == "X":
            need(event["cat"] in ("kptrace", "cpu"), "a complete event of another kind")
            need(type(event["dur"]) is decimal.Decimal and event["dur"] >= 0, "dur")
            spans.setdefault((event["pid"], event["tid"]), []).append((event["ts"], end_of(event)))
            if event["cat"] == "cpu":
                need(processes[event["pid"]] == "CPUs", "a CPU's process")
                print("slice", event["tid"], event["args"]["tid"], event["name"], event["ts"], event["dur"])
                continue
            print("span", event["pid"], event["tid"], event["name"], event["ts"], event["dur"])
            print("mark", mark(event, processes))
            continue
        if event["ph"] in ("B", "C"):
            need(event["cat"] == "kptrace" and event["pid"] in processes, "the process of a span or counter")
            if event["ph"] == "B":
                print("open", event["pid"], event["tid"], event["name"], event["args"]["text"])
            else:
                need(set(event["args"]) == {"value"}, "the arguments of a counter")
                print("counter", event["pid"], event["name"], event["args"]["value"])
            continue
        need(event["ph"] == "i", "an event of another phase")
        need(event["s"] == "t" or event["cat"] == "kptrace" and event["s"] == "g", "a scope")
        if event["cat"] == "kptrace":
            for line in mark(event, processes).split("\n"):
                print("mark", line)
            continue
        names = stack_of(frames, event["sf"]) if "sf" in event else []
        need(not names or names[0] == event["name"], "a name other than its stack's")
        key = event.get("sf")
        while key is not None and key not in used:
            used.add(key)
            key = frames[key].get("parent")
        args = event["args"]
        key = (event["pid"], event["tid"], event["cat"], args["cpu"], args["weight"],
               args.get("file", "-"), ";".join(reversed(names)) or "-")
        count, first = samples.get(key, (0, event["ts"]))
        samples[key] = (count + 1, min(first, event["ts"]))
    need(used == set(frames), "frames that no sample has")
    for thread in spans.values():
        check_nesting(thread)
    for key, value in sorted(samples.items()):
        print("sample", *key, *value)


main()
