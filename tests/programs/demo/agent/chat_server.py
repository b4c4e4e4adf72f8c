"""A chat server of the demo that adds two numbers, wrongly in every fifth answer; prints its port."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Chat(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    answers = 0

    def do_GET(self) -> None:
        self.reply({"object": "list", "data": [{"id": "demo", "object": "model"}]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "messages" not in body:
            self.send_error(404)
            return
        Chat.answers += 1
        numbers = str(body["messages"][-1]["content"]).split("+")
        total = sum(int(number) for number in numbers if number.strip().isdecimal())
        message = {"role": "assistant", "content": str(total + (Chat.answers % 5 == 0))}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
        self.reply({"id": f"chat-{Chat.answers}", "choices": [choice], "usage": usage})

    def reply(self, content: object) -> None:
        data = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Prints nothing."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Chat)
    print(server.server_port, flush=True)
    server.serve_forever()
