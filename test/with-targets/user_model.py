"""A model server that plays a user, for the tests of environments with a simulated one."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

USAGE = {"prompt_tokens": 11, "completion_tokens": 2, "total_tokens": 13}


class UserModel(ThreadingHTTPServer):
    """Its answers are the next of ``answers``: a text, a list of the names of tools that it calls, or a status."""

    def __init__(self, answers, usage=USAGE):
        self.answers, self.requests, self.usage = list(answers), [], usage
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/v1"


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.requests.append({"key": self.headers["authorization"], **body})
        answer = self.server.answers.pop(0) if self.server.answers else 500
        status = answer if isinstance(answer, int) else 200
        message = {"role": "assistant", "content": answer if isinstance(answer, str) else None}
        if isinstance(answer, list):
            functions = [{"name": name, "arguments": "{}"} for name in answer]
            message["tool_calls"] = [{"id": "end", "type": "function", "function": function} for function in functions]
        document = {
            "id": "1",
            "object": "chat.completion",
            "created": 1,
            "model": "user",
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": self.server.usage,
        }
        data = json.dumps(document if status == 200 else {"error": {"message": "overloaded"}}).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass
