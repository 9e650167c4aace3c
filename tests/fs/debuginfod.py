#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""debuginfod.py FOLDER PORT-FILE: serves FOLDER on loopback as debuginfod would; a request a line."""
import functools
import http.server
import os
import sys


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, form, *args):
        print(form % args, flush=True)


server = http.server.ThreadingHTTPServer(
    ("127.0.0.1", 0), functools.partial(Handler, directory=sys.argv[1]))
with open(sys.argv[2] + ".new", "w", encoding="ascii") as port:
    port.write(f"{server.server_port}\n")
os.rename(sys.argv[2] + ".new", sys.argv[2])
server.serve_forever()
