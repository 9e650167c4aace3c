#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints two durations in s since the navigation to PAGE: to its first paint, and to its flame graph.

usage: html_paint.py PAGE
"""
import os
import sys

import chromium

browser = chromium.Browser("about:blank")
try:
    browser.go("file://" + os.path.abspath(sys.argv[1]))
    # main.dataset.ready is set when the first part is drawn
    browser.wait("document.querySelector('#main[data-ready]') !== null && "
                 "performance.getEntriesByName('first-contentful-paint').length === 1")
    print(browser.value("performance.getEntriesByName('first-contentful-paint')[0].startTime / 1000"),
          browser.value("performance.getEntriesByName('ready')[0].startTime / 1000"))
finally:
    browser.close()
