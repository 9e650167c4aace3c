#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""views/report.html of the capture of tests/fixtures/mkstory, used in Chromium as a person would.

usage: report_html.py PAGE REPORT HOSTILE-PAGE DIFFERENCE-PAGE TIMELESS-PAGE

REPORT is what `kprof report` prints of the same capture. HOSTILE-PAGE is of a file whose name is meant
to run a script. DIFFERENCE-PAGE compares with a capture in which the two functions have changed places.
The samples of mkstory are 1 ms apart; those of cycles begin, in ms since the first one, at
    prog 0 (600), worker 680 (300), child 20 (100), idle 130 (150), gone 280 (50).
TIMELESS-PAGE is of a capture without times of the CPUs.
Prints what is wrong; 0: nothing, 77: there is no browser.
"""
import json
import os
import sys

import chromium

failed = 0


def same(what, expected, found):
    global failed
    if expected != found:
        failed = 1
        print("FAILED: %s: expected %r, found %r" % (what, expected, found))


def true_soon(what, expression):
    global failed
    if not browser.wait(expression):
        failed = 1
        print("FAILED: %s: not true: %s" % (what, expression))


def open_page(path, fragment=""):
    """Also where only the fragment differs from the page before."""
    browser.go("about:blank")
    browser.go("file://" + path.replace("%", "%25").replace("#", "%23") + "#" + fragment)
    true_soon("the page is ready", "document.querySelector('#main[data-ready]') !== null")


def text(selector):
    return browser.value("document.querySelector(%s).textContent" % json.dumps(selector))


def rows(selector):
    return browser.value("Array.from(document.querySelectorAll(%s), (row) => Array.from(row.cells, "
                         "(cell) => cell.textContent))" % json.dumps(selector + " tbody tr"))


def table():
    """(share, samples, process, function) of each row."""
    return [(r[0], int(r[2]), r[-3], r[-2]) for r in rows("#functions")]


def has_range(expected):
    true_soon("the samples that are counted", "document.querySelector('#range').textContent === %s"
              % json.dumps(expected))


def read_report(path, event):
    """The rows of `kprof report`; addresses without a symbol are one row for each file in the page."""
    found = []
    for line in open(path):
        parts = line.split()
        if len(parts) == 6 and parts[2] == event and parts[0] != "idle":
            name = parts[5] if parts[4].startswith("0x") else parts[4]
            found.append((parts[0], int(parts[1]), parts[3], name))
    return found


def test_summary():
    summary = text("#summary")
    capture = os.path.join(os.path.dirname(pages[0]), "kpdata")
    same("the title has the source", "kprof report: " + capture, browser.value("document.title"))
    same("the source, the host and the scope", True, "Source: %s. Page made on %s (%s). Scope: kernel and user space."
         % (capture, os.uname().nodename, os.uname().machine) in summary)
    for part in ("1250 samples of 2 events in 0.979 s on 2 CPUs",
                 "cycles:freq=1000: 1200 samples, 150 of them idle, 41 lost (3.30%: 41 in a full ring)",
                 "page-faults:period=7: 50 samples, 0 of them idle, 42 lost"):
        same("the summary has " + part, True, part in summary)


def test_table(page, report):
    open_page(page, "view=table")
    has_range("1050 samples, 150 idle")
    same("the rows are those of kprof report", read_report(report, "cycles:freq=1000"), table())
    same("the total of victim_two", "85.71%", [r[1] for r in rows("#functions") if r[-2] == "victim_two"][0])
    browser.click("[data-sort=samples]")
    true_soon("sorted by samples", "document.querySelector('[data-sort=samples]').parentNode.ariaSort"
              " === 'descending'")
    same("most samples first", [600, 300, 100, 50], [r[1] for r in table()])
    browser.click("[data-sort=samples]")
    true_soon("sorted the other way", "document.querySelector('[data-sort=samples]').parentNode.ariaSort"
              " === 'ascending'")
    same("least samples first", [50, 100, 300, 600], [r[1] for r in table()])
    browser.click("[data-sort=process]")
    true_soon("sorted by process", "document.querySelector('[data-sort=process]').parentNode.ariaSort"
              " === 'ascending'")
    same("processes in order", ["[gone]", "child", "prog", "prog"], [r[2] for r in table()])
    browser.choose("#event", "1")
    has_range("50 samples")
    same("the rows of the other event", read_report(report, "page-faults:period=7"), table())
    browser.choose("#event", "0")
    browser.choose("#thread", "t10.11.prog")
    has_range("300 samples")
    same("the rows of a thread", [("100.00%", 300, "prog", "victim_two")], table())
    browser.choose("#thread", "pprog")
    has_range("900 samples")
    same("the rows of a process", [("66.67%", 600, "prog", "victim_one"),
                                   ("33.33%", 300, "prog", "victim_two")], table())


def test_widths(page):
    """A very long name of a function does not break the names of processes into letters."""
    open_page(page, "view=table")
    browser.value("document.querySelector('#functions .name').textContent = 'x'.repeat(5000)")
    same("a row is as high as one line", True, browser.value(
        "document.querySelectorAll('#functions tbody tr')[2].offsetHeight < 24"))
    same("the page is not wider than the window", True, browser.value(
        "document.documentElement.scrollWidth <= window.innerWidth"))


def test_legend(page):
    """The head of each column of the CPUs has the colour of its mode in the chart above."""
    open_page(page, "view=cpu")
    colours = browser.value(
        "Array.from(document.querySelectorAll('#cpus th'), (head) => getComputedStyle(head).borderBottomWidth === '6px'"
        " ? getComputedStyle(head).borderBottomColor : null)")
    drawn = browser.value(
        "(function () { const canvas = document.querySelector('#cpus').previousElementSibling.firstChild;"
        " const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data, seen = {};"
        " for (let i = 0; i < data.length; i += 4) if (data[i + 3] === 255)"
        " seen['rgb(' + data[i] + ', ' + data[i + 1] + ', ' + data[i + 2] + ')'] = true;"
        " return Object.keys(seen); })()")
    same("the CPU has no colour", None, colours[0])
    same("colours that differ", 5, len(set(colours[1:])))
    for mode in (0, 1, 4):  # user, kernel, idle: the capture has these
        same("the colour of column %d is in the chart" % mode, True, colours[1 + mode] in drawn)


def test_search(page):
    open_page(page, "view=table")
    browser.key("/", "/")
    true_soon("the search has the focus", "document.activeElement.id === 'search'")
    browser.type("TWO")
    true_soon("a search with capitals finds none", "document.querySelectorAll('#functions tbody tr').length === 0")
    browser.key("Escape")
    true_soon("Escape ends the search", "document.querySelector('#search').value === ''")
    browser.key("/", "/")
    browser.type("m_two$")
    true_soon("rows that match", "document.querySelectorAll('#functions tbody tr').length === 1")
    same("the row that matches", ["victim_two"], [r[3] for r in table()])
    open_page(page, "view=flame&s=victim_one")
    same("matches in the flame graph", "2 frames matching, with what they call: 66.67%", text("#status"))


def test_range(page):
    open_page(page, "view=table&from=100000&to=299000")
    has_range("240 samples, 150 idle, from 0.1 s to 0.299 s")
    same("the rows of a range", [("83.33%", 200, "prog", "victim_one"), ("8.33%", 20, "[gone]", "[kernel.kallsyms]"),
                                 ("8.33%", 20, "child", "victim_one"), ("0.00%", 0, "prog", "victim_two")], table())
    browser.key("5", "5")
    same("the CPUs in a range", [["0", "100.00%", "0.00%", "0.00%", "0.00%", "0.00%"],
                                 ["1", "10.53%", "10.53%", "0.00%", "0.00%", "78.95%"]], rows("#cpus"))
    browser.click("#all")
    has_range("1050 samples, 150 idle")
    same("the CPUs", [["0", "100.00%", "0.00%", "0.00%", "0.00%", "0.00%"],
                      ["1", "33.33%", "16.67%", "0.00%", "0.00%", "50.00%"]], rows("#cpus"))
    same("the measured times of the CPUs", [
        ["0", "0.8 s", "0.4 s 50.00%", "0.1 s 12.50%", "0.05 s 6.25%", "0.25 s 31.25%", "0 s 0.00%"],
        ["1", "0.5 s", "0.125 s 25.00%", "0.125 s 25.00%", "0 s 0.00%", "0.225 s 45.00%", "0.025 s 5.00%"]],
         rows("#measured"))
    browser.key("4", "4")
    browser.value("document.querySelector('#heatmap').focus()")
    browser.key("ArrowRight")
    has_range("78 samples, from 0 s to 0.04895 s")
    browser.click("#heatmap")
    has_range("1050 samples, 150 idle")
    x, y, width, _ = browser.box("#heatmap")
    browser.mouse("mousePressed", x + 170 + (width - 170) * 0.75, y + 8)
    browser.mouse("mouseMoved", x + width - 1, y + 8)
    browser.mouse("mouseReleased", x + width - 1, y + 8)
    true_soon("a range is dragged", "/from=7[0-9]{5}&to=97[0-9]{4}/.test(location.hash)")
    browser.key("2", "2")
    same("only the worker has samples there", [("100.00%", "prog", "victim_two")],
         [(r[0], r[2], r[3]) for r in table()])


def test_flame(page):
    open_page(page)
    browser.value("document.querySelector('#flamegraph').focus()")
    for key, status in (("ArrowDown", "all: 1050 samples, 100.00%"),
                        ("ArrowDown", "prog: 900 samples, 85.71%, process"),
                        ("ArrowDown", "victim_two: 900 samples, 85.71%, 28.57% in itself, "),
                        ("ArrowUp", "prog: 900 samples, 85.71%, process"),
                        ("ArrowRight", "child: 100 samples, 9.52%, process"),
                        ("ArrowLeft", "prog: 900 samples, 85.71%, process")):
        browser.key(key)
        true_soon("the frame after " + key, "document.querySelector('#status').textContent.startsWith(%s)"
                  % json.dumps(status))
    browser.key("ArrowRight")
    browser.key("Enter")
    true_soon("Enter zooms", "/zoom=[1-9]/.test(location.hash)")
    x, y, width, _ = browser.box("#flamegraph")
    browser.mouse("mouseMoved", x + width - 20, y + 2 * 18 + 9)
    true_soon("a zoomed frame is as wide as the picture",
              "document.querySelector('#status').textContent.startsWith('victim_one: 100 samples')")
    browser.key("Escape")
    true_soon("Escape shows all", "!location.hash.includes('zoom')")
    browser.mouse("mouseMoved", x + width - 20, y + 2 * 18 + 8)
    true_soon("the frame on the right", "document.querySelector('#status').textContent"
              ".startsWith('[kernel.kallsyms]: 50 samples, 4.76%, kernel')")


def open_lines():
    return browser.value("Array.from(document.querySelectorAll('#calls .line'), (line) => Array.from("
                         "line.children, (part) => part.textContent).slice(0, 3).join(' '))")


def test_tree(page):
    open_page(page, "view=tree")
    same("the processes", ["85.71% 900 prog", "9.52% 100 child", "4.76% 50 [gone]"], open_lines())
    browser.value("document.querySelector('#calls li').focus()")
    for key in ("ArrowRight", "ArrowDown", "ArrowRight"):
        browser.key(key)
    same("opened lines", ["85.71% 900 prog", "85.71% 900 victim_two", "57.14% 600 victim_one", "9.52% 100 child",
                          "4.76% 50 [gone]"], open_lines())
    browser.click("#callers")
    same("the functions", ["66.67% 700 victim_one", "28.57% 300 victim_two", "4.76% 50 [kernel.kallsyms]"],
         open_lines())
    browser.value("document.querySelector('#calls li').focus()")
    browser.key("ArrowRight")
    same("the callers", ["57.14% 600 victim_two", "9.52% 100 child"], open_lines()[1:3])


def test_colours(page):
    back = "getComputedStyle(document.body).backgroundColor === '%s'"
    open_page(page)
    true_soon("it is light", back % "rgb(255, 255, 255)")
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    true_soon("it is dark as the browser prefers", back % "rgb(23, 24, 27)")
    browser.key("d", "d")
    true_soon("d changes it", back % "rgb(255, 255, 255)")
    browser.call("Emulation.setEmulatedMedia", features=[])


def test_hostile(page):
    open_page(page, "view=table")
    same("the title is ours", "kprof report: " + os.path.join(os.path.dirname(page), "hostile"),
         browser.value("document.title"))
    same("no element came from a name", 0, browser.value("document.querySelectorAll('img, a, b').length"))
    same("scripts", 1, browser.value("document.scripts.length"))
    same("the name is shown as text", True, any("</script><script>document.title='run'</script>" in r[-1] and
                                                "\\x01\\xff" in r[-1] for r in rows("#functions")))
    same("an inline script is refused", browser.value("document.title"), browser.value(
        "(() => { const s = document.createElement('script'); s.textContent = \"document.title = 'run'\";"
        "document.body.append(s); return document.title; })()"))


def test_difference(page):
    open_page(page, "view=table")
    found = {(r[-3], r[-2]): (r[0], r[3], r[4]) for r in rows("#functions")}
    same("shares now, before, and the changes", {
        ("prog", "victim_one"): ("57.14%", "28.57%", "+28.57"), ("prog", "victim_two"): ("28.57%", "57.14%", "-28.57"),
        ("child", "victim_one"): ("9.52%", "0.00%", "+9.52"), ("child", "victim_two"): ("0.00%", "9.52%", "-9.52"),
        ("[gone]", "[kernel.kallsyms]"): ("4.76%", "4.76%", "+0.00")}, found)
    browser.key("1", "1")
    browser.value("document.querySelector('#flamegraph').focus()")
    for status in ("all: 1050 samples, 100.00%", "prog: 900 samples, 85.71%, +0.00 since the earlier capture, process",
                   "victim_two: 900 samples, 85.71%, 28.57% in itself, +85.71 since the earlier capture, "):
        browser.key("ArrowDown")
        true_soon("the change of a frame", "document.querySelector('#status').textContent.startsWith(%s)"
                  % json.dumps(status))


def test_without_times(page):
    open_page(page)
    browser.key("5", "5")
    true_soon("that there are no measured times", "document.querySelector('#measurednote').textContent"
              ".startsWith('This capture has no measured times of the CPUs: ')")
    same("no table of them", True, browser.value("document.querySelector('#measured').hidden"))


def test_nothing_is_loaded_and_no_error():
    """All that the browser reported meanwhile, but for the script that test_hostile has refused."""
    for event in browser.events:
        method, values = event["method"], event.get("params", {})
        if method == "Runtime.exceptionThrown":
            same("exceptions", None, values["exceptionDetails"])
        if method == "Network.requestWillBeSent":
            url = values["request"]["url"]
            same("what is loaded", True, url.startswith(("file:///", "about:")) and url.partition("#")[0].endswith(".html")
                 or url == "about:blank")


if not chromium.find():
    print("chromium is missing")
    sys.exit(77)
pages = [os.path.abspath(path) for path in sys.argv[1:]]
browser = chromium.Browser("about:blank")
try:
    open_page(pages[0])
    test_summary()
    test_table(pages[0], pages[1])
    test_widths(pages[0])
    test_legend(pages[0])
    test_search(pages[0])
    test_range(pages[0])
    test_flame(pages[0])
    test_tree(pages[0])
    test_colours(pages[0])
    test_hostile(pages[2])
    test_difference(pages[3])
    test_without_times(pages[4])
    test_nothing_is_loaded_and_no_error()
finally:
    browser.close()
sys.exit(failed)
