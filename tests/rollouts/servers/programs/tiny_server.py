"""Serves OpenAI's API without a model: `tiny_server.py PORT [zero|unready|daemon]`."""

import http.server
import json
import os
import sys
import time


class Tiny(http.server.BaseHTTPRequestHandler):
    def answer(self, value, status=200):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer({"data": [{"id": "tiny"}]}, 503 if "unready" in sys.argv else 200)

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        tokens = int("zero" not in sys.argv)
        choices = [{"index": 0, "text": "a" * tokens}]
        self.answer({"choices": choices, "usage": {"completion_tokens": tokens}})

    def log_message(self, *_):
        pass


def become_daemon():
    if os.fork():
        # Eagleray has noticed the program by then.
        time.sleep(1)
        os._exit(0)
    os.setsid()
    if os.fork():
        os._exit(0)


if "daemon" in sys.argv:
    become_daemon()
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Tiny).serve_forever()
