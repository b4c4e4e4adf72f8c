"""A program that answers as an inference server does: `PORT`, with the key in SERVER_KEY; prints on which host it runs."""

from __future__ import annotations

import json
import os
import socket
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self._answer({"data": [{"id": socket.gethostname()}]})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer({"choices": [{"text": "!"}]})

    def _answer(self, value: object) -> None:
        wanted = f"Bearer {os.environ['SERVER_KEY']}"
        is_refused = self.path != "/health" and self.headers["Authorization"] != wanted
        body = json.dumps(value).encode()
        self.send_response(401 if is_refused else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


with ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Answers) as server:
    print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
