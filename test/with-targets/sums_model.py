"""A model server that plays the sums of `tasksets/sums_v1`, some of them wrongly, streamed or not."""

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class SumsModel(ThreadingHTTPServer):
    """``requests`` has what it was asked."""

    def __init__(self):
        self.requests = []
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/v1"


def message_of(messages):
    """Asks the tool, and then tells the sum, one more, or nothing. The fourth sum needs no tool."""
    number = next(int(re.search(r"What is (\d+)", m["content"])[1]) for m in messages if m["role"] == "user")
    if number == 3 or messages[-1]["role"] == "tool":
        return {"content": (str(number + 30), str(number + 31), "I do not know.")[number % 3]}
    arguments = json.dumps({"a": number, "b": 30})
    return {
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "sums_add", "arguments": arguments}}],
    }


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.requests.append(body)
        message = {"role": "assistant", **message_of(body["messages"])}
        finish = "tool_calls" if "tool_calls" in message else "stop"
        is_streamed = body.get("stream", False)
        document = {
            "id": "1",
            "object": "chat.completion.chunk" if is_streamed else "chat.completion",
            "created": 1,
            "model": body["model"],
            "usage": {"prompt_tokens": 11, "completion_tokens": 2, "total_tokens": 13},
        }
        if is_streamed:
            calls = [{"index": 0, **call} for call in message.pop("tool_calls", [])]
            choice = {
                "index": 0,
                "finish_reason": finish,
                "delta": {**message, **({"tool_calls": calls} if calls else {})},
            }
            text = f"data: {json.dumps({**document, 'choices': [choice]})}\n\ndata: [DONE]\n\n"
        else:
            text = json.dumps({**document, "choices": [{"index": 0, "finish_reason": finish, "message": message}]})
        self.send_response(200)
        self.send_header("content-type", "text/event-stream" if is_streamed else "application/json")
        self.send_header("content-length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass
