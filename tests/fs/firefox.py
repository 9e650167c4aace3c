# SPDX-License-Identifier: MIT
"""firefox.py FILE: checks a profile against what the Firefox Profiler documents of its processed format,
version 48 (src/types/profile and docs-developer/CHANGELOG-formats), and prints what is in it:

    start MS, interval MS, extra LABEL VALUE
    thread NAME PID TID MAIN TYPE, and below it
      self FUNCTION SAMPLES WEIGHT, total FUNCTION SAMPLES
      stack OUTERMOST;...;INNERMOST SAMPLES      with (FILE:LINE) and +DEPTH where these are known
"""
import collections
import json
import sys

COLORS = {"transparent", "purple", "green", "orange", "yellow", "lightblue", "blue", "brown", "magenta",
          "red", "lightred", "darkgrey", "grey"}
COLUMNS = {
    "stackTable": "frame prefix category subcategory",
    "frameTable": "address inlineDepth category subcategory func nativeSymbol innerWindowID"
                  " implementation line column",
    "funcTable": "name isJS relevantForJS resource fileName lineNumber columnNumber",
    "resourceTable": "lib name host type",
    "nativeSymbols": "libIndex address name functionSize",
    "markers": "data name startTime endTime phase category",
}


def need(fact, what):
    if not fact:
        sys.exit("firefox.json: " + what)


def is_index(value, count):
    return type(value) is int and 0 <= value < count


def is_number(value):
    return type(value) in (int, float)


def check_meta(meta):
    for name in "interval", "startTime", "version":
        need(is_number(meta[name]), "meta." + name)
    need(meta["preprocessedProfileVersion"] == 48, "meta.preprocessedProfileVersion")
    need(type(meta["product"]) is str and meta["processType"] == 0 and meta["stackwalk"] == 1, "meta")
    need(meta["symbolicated"] is True, "meta.symbolicated")
    need(type(meta["markerSchema"]) is list, "meta.markerSchema")
    need(meta["sampleUnits"] == {"time": "ms", "eventDelay": "ms", "threadCPUDelta": "ns"},
         "meta.sampleUnits")
    for category in meta["categories"]:
        need(type(category["name"]) is str and category["color"] in COLORS, "a category")
        need(category["subcategories"][0] == "Other", "a category's subcategories")
    need("grey" in [category["color"] for category in meta["categories"]], "no default category")
    for section in meta["extra"]:
        need(type(section["label"]) is str, "meta.extra")
        for entry in section["entries"]:
            need(type(entry["label"]) is str and entry["format"] == "string", "meta.extra.entries")


def check_lib(lib):
    for name in "arch", "name", "path", "debugName", "debugPath", "breakpadId":
        need(type(lib[name]) is str, "libs." + name)
    need(lib["codeId"] is None or type(lib["codeId"]) is str, "libs.codeId")
    if lib["codeId"] and len(lib["codeId"]) >= 32:
        b = bytes.fromhex(lib["codeId"])
        guid = b[3::-1] + b[5:3:-1] + b[7:5:-1] + b[8:16]
        need(lib["breakpadId"] == guid.hex().upper() + "0", "libs.breakpadId")


def check_tables(thread, profile):
    for name, columns in COLUMNS.items():
        table = thread[name]
        need(set(table) == set(columns.split()) | {"length"}, name + " has other columns")
        for column in columns.split():
            need(len(table[column]) == table["length"], f"{name}.{column}: its length")
    strings, categories = thread["stringArray"], profile["meta"]["categories"]
    need(all(type(s) is str for s in strings) and len(set(strings)) == len(strings), "stringArray")
    stacks, frames, funcs = thread["stackTable"], thread["frameTable"], thread["funcTable"]
    resources = thread["resourceTable"]
    for i in range(stacks["length"]):
        need(is_index(stacks["frame"][i], frames["length"]), "stackTable.frame")
        need(stacks["prefix"][i] is None or is_index(stacks["prefix"][i], i), "stackTable.prefix")
        need(is_index(stacks["category"][i], len(categories)), "stackTable.category")
        need(stacks["subcategory"][i] == 0, "stackTable.subcategory")
    for i in range(frames["length"]):
        need(is_index(frames["func"][i], funcs["length"]), "frameTable.func")
        need(frames["address"][i] == -1 or frames["address"][i] >= 0, "frameTable.address")
        need(is_index(frames["inlineDepth"][i], 1000), "frameTable.inlineDepth")
        need(is_index(frames["category"][i], len(categories)), "frameTable.category")
        need(frames["line"][i] is None or frames["line"][i] > 0, "frameTable.line")
    for i in range(funcs["length"]):
        need(is_index(funcs["name"][i], len(strings)), "funcTable.name")
        need(funcs["resource"][i] == -1 or is_index(funcs["resource"][i], resources["length"]),
             "funcTable.resource")
        need(funcs["fileName"][i] is None or is_index(funcs["fileName"][i], len(strings)),
             "funcTable.fileName")
        need(funcs["isJS"][i] is False and funcs["relevantForJS"][i] is False, "funcTable.isJS")
    for i in range(resources["length"]):
        need(is_index(resources["lib"][i], len(profile["libs"])), "resourceTable.lib")
        need(is_index(resources["name"][i], len(strings)), "resourceTable.name")
        need(resources["type"][i] == 1, "resourceTable.type")


def check_samples(thread):
    samples = thread["samples"]
    for name in "stack", "time", "weight":
        need(len(samples[name]) == samples["length"], f"samples.{name}: its length")
    need(samples["weightType"] in ("samples", "tracing-ms"), "samples.weightType")
    # of a clock, what a sample stands for is CPU time, in the units of meta.sampleUnits
    need(("threadCPUDelta" in samples) == (samples["weightType"] == "tracing-ms"), "samples.threadCPUDelta")
    if "threadCPUDelta" in samples:
        need([round(weight * 1e6) for weight in samples["weight"]] == samples["threadCPUDelta"],
             "samples.threadCPUDelta and weight")
    need(all(is_number(t) and t >= 0 for t in samples["time"]), "samples.time")
    need(samples["time"] == sorted(samples["time"]), "samples.time is not sorted")
    for stack in samples["stack"]:
        need(stack is None or is_index(stack, thread["stackTable"]["length"]), "samples.stack")


def check_thread(thread, profile):
    need(type(thread["name"]) is str and type(thread["pid"]) is str, "a thread's name or pid")
    need(type(thread["tid"]) is int and type(thread["isMainThread"]) is bool, "a thread's tid")
    for name in "processType", "processName":
        need(type(thread[name]) is str, name)
    need(thread["processShutdownTime"] is None and thread["unregisterTime"] is None, "times of the end")
    need(is_number(thread["registerTime"]) and is_number(thread["processStartupTime"]), "times")
    need(thread["pausedRanges"] == [], "pausedRanges")
    check_tables(thread, profile)
    check_samples(thread)


def frames_of(thread, stack):
    """Innermost first: (function, as it is printed)"""
    stacks, frames, funcs = thread["stackTable"], thread["frameTable"], thread["funcTable"]
    strings = thread["stringArray"]
    while stack is not None:
        frame = stacks["frame"][stack]
        func = frames["func"][frame]
        name = strings[funcs["name"][func]]
        shown, source, line = name, funcs["fileName"][func], frames["line"][frame]
        if source is not None:
            shown += f"({strings[source].rsplit('/', 1)[-1]}:{line})"
        if frames["inlineDepth"][frame]:
            shown += f"+{frames['inlineDepth'][frame]}"
        yield name, shown
        stack = stacks["prefix"][stack]


def print_thread(thread):
    samples, counts = thread["samples"], collections.Counter()
    weights = collections.Counter()
    for stack, weight in zip(samples["stack"], samples["weight"]):
        frames = list(frames_of(thread, stack))
        shown = ";".join(shown for _, shown in reversed(frames)) or "-"
        counts["stack", shown] += 1
        if frames:
            counts["self", frames[0][0]] += 1
            weights[frames[0][0]] += weight
        for name in {name for name, _ in frames}:
            counts["total", name] += 1
    print("thread", thread["name"], thread["pid"], thread["tid"], thread["isMainThread"],
          samples["weightType"], samples["length"])
    for (what, name), count in sorted(counts.items()):
        print(" ", what, name, count, *([f"{weights[name]:g}"] if what == "self" else []))


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        profile = json.load(file)
    check_meta(profile["meta"])
    for lib in profile["libs"]:
        check_lib(lib)
    for thread in profile["threads"]:
        check_thread(thread, profile)
    print("start", profile["meta"]["startTime"])
    print("interval", profile["meta"]["interval"])
    for section in profile["meta"]["extra"]:
        for entry in section["entries"]:
            print("extra", entry["label"], entry["value"])
    for thread in profile["threads"]:
        print_thread(thread)


main()
