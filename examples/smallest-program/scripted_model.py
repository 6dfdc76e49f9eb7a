"""A model without weights, to try a program: python3 scripted_model.py [PORT [NAME]]. It answers by a script."""

import json
import random
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT = int(sys.argv[1]) if len(sys.argv) > 1 else 8000
NAME = sys.argv[2] if len(sys.argv) > 2 else "scripted"


def answer(messages, seed):
    """Yours to change. It looks the parcel up in half of its conversations, and guesses in the others."""
    if messages[-1]["role"] == "tool":
        return {"content": "yes" if int(messages[-1]["content"].split()[0]) <= 30 else "no"}
    if random.Random(seed).random() < 0.5:
        return {"content": "yes"}
    parcel = messages[-1]["content"].split()[-1].rstrip("?")
    call = {"name": "look_up", "arguments": json.dumps({"parcel": parcel})}
    return {"content": None, "tool_calls": [{"id": "call-1", "type": "function", "function": call}]}


class Routes(BaseHTTPRequestHandler):
    def do_GET(self):  # /v1/models
        self.reply({"object": "list", "data": [{"id": NAME, "object": "model"}]})

    def do_POST(self):  # /v1/chat/completions
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        message = {"role": "assistant", **answer(asked["messages"], asked.get("seed"))}
        self.reply({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})

    def reply(self, body):
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())


ThreadingHTTPServer(("127.0.0.1", PORT), Routes).serve_forever()
