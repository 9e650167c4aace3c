# SPDX-License-Identifier: MIT
"""tracejson.py FILE: checks a trace against the Trace Event Format (its object form; metadata events,
instants and stack frames, which are all that is in it), and prints what is in it:

    other NAME VALUE
    process PID NAME, thread PID TID NAME
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


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        trace = json.load(file, parse_float=decimal.Decimal)
    need(set(trace) == {"displayTimeUnit", "otherData", "traceEvents", "stackFrames"}, "its members")
    need(trace["displayTimeUnit"] == "ns", "displayTimeUnit")
    frames = trace["stackFrames"]
    check_frames(frames)
    samples, used = {}, set()
    for name, value in trace["otherData"].items():
        print("other", name, value)
    for event in trace["traceEvents"]:
        need(type(event["pid"]) is int and type(event["tid"]) is int, "pid and tid")
        if event["ph"] == "M":
            need(event["name"] in ("process_name", "thread_name"), "a metadata event")
            ids = [event["pid"]] + ([event["tid"]] if event["name"] == "thread_name" else [])
            print(event["name"].split("_")[0], *ids, event["args"]["name"])
            continue
        need(event["ph"] == "i" and event["s"] == "t", "an event of another phase")
        need(type(event["name"]) is str and type(event["cat"]) is str, "name or category")
        need(type(event["ts"]) is decimal.Decimal, "ts")
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
    for key, value in sorted(samples.items()):
        print("sample", *key, *value)


main()
