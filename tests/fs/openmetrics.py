# SPDX-License-Identifier: MIT
"""openmetrics.py FILE: checks a text against the grammar of OpenMetrics 1.0 as far as gauges and histograms go, and
prints its samples, sorted, as `NAME LABEL=VALUE,... NUMBER`."""
import re
import sys

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
TEXT = r'(?:[^"\\\n]|\\["\\n])*'
LABEL = rf'([a-zA-Z_][a-zA-Z0-9_]*)="({TEXT})"'
SAMPLE = re.compile(rf'({NAME})(?:\{{({LABEL}(?:,{LABEL})*)\}})? (-?[0-9]+(?:\.[0-9]+)?|NaN|[+-]Inf)')
META = re.compile(rf"# (TYPE|HELP|UNIT) ({NAME}) (.+)")
# what other types add to their names
TAKEN = ("_total", "_created", "_count", "_sum", "_bucket", "_gcount", "_gsum", "_info")


def stop(number, why):
    sys.exit(f"line {number + 1}: {why}")


def check_histogram(name, seen):
    """Of each set of labels the buckets grow up to the one of all, which is the count; there are both a sum and a
    count, or neither, which negative values demand."""
    counts = {labels: value for found, labels, value in seen if found == name + "_count"}
    sums = {labels for found, labels, _ in seen if found == name + "_sum"}
    rows = {}
    for found, labels, value in seen:
        if found == name + "_bucket":
            row = rows.setdefault(re.sub(",?le=[^,]*$", "", labels), [])
            row.append((float(re.search("le=([^,]*)$", labels)[1]), int(value)))
    if not rows or set(counts) != sums or sums - set(rows):
        sys.exit(f"{name}: counts and sums differ in their labels")
    for labels, buckets in rows.items():
        count = counts.get(labels, buckets[-1][1])
        if buckets != sorted(buckets) or buckets[-1] != (float("inf"), int(count)):
            sys.exit(f"{name} {labels}: buckets {buckets}, count {count}")
        if labels in sums and any(value for bound, value in buckets if bound < 0):
            sys.exit(f"{name} {labels}: a sum with negative values")
        if [value for _, value in buckets] != sorted(value for _, value in buckets):
            sys.exit(f"{name} {labels}: buckets fall: {buckets}")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        text = file.read()
    if not text.endswith("# EOF\n"):
        sys.exit("no # EOF at the end")
    families, current, seen = {}, None, []
    for number, line in enumerate(text.split("\n")[:-2]):
        meta, sample = META.fullmatch(line), SAMPLE.fullmatch(line)
        if meta:
            kind, name, value = meta.groups()
            if name != current:
                if name in families:
                    stop(number, f"{name} stands in two places")
                current = name
                families[name] = {"samples": 0}
            if kind in families[name] or families[name]["samples"]:
                stop(number, f"{kind} of {name} is late, or there twice")
            if kind == "TYPE" and value not in ("gauge", "histogram"):
                stop(number, f"a {value}")
            families[name][kind] = value
        elif sample:
            name, labels = sample.group(1), sample.group(2) or ""
            family = name
            if families.get(current, {}).get("TYPE") == "histogram":
                family = re.sub("_(bucket|count|sum)$", "", name)
                if family == name:
                    stop(number, f"{name} in a histogram")
            if family != current or "TYPE" not in families[family] or "HELP" not in families[family]:
                stop(number, f"{name} is not the metric just described")
            pairs = re.findall(LABEL, labels)
            if len({label for label, _ in pairs}) != len(pairs):
                stop(number, "a label twice")
            families[family]["samples"] += 1
            seen.append((name, ",".join(f"{label}={value}" for label, value in pairs),
                         sample.group(sample.lastindex)))
        else:
            stop(number, f"neither a sample nor a description: {line}")
    if len({sample[:2] for sample in seen}) != len(seen):
        sys.exit("a sample twice")
    for name, family in families.items():
        if family["TYPE"] == "histogram":
            check_histogram(name, seen)
        if not family["samples"]:
            sys.exit(f"{name} has no samples")
        if name.endswith(TAKEN) and not name.endswith("_info"):
            sys.exit(f"{name} ends like a metric of another type")
    for sample in sorted(seen):
        print(*(part for part in sample if part))


main()
