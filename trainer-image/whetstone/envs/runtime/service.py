"""The protocol's methods: one request line in, one response line out."""

import sys

from .checks import check_calls
from .clock import set_clock_ahead
from .codec import decode, encode
from .faults import RuntimeFault, bad_request, bad_return, describe_exception
from .limits import API_VERSION, LINE_BYTES, MAX_BATCH, MAX_EPISODES, MESSAGE_CHARS, RESULT_BYTES
from .module import EnvironmentModule, required

# This is the hash module's own extension, because hashlib would load OpenSSL at every start.
try:
    from _sha2 import sha256
except ImportError:
    from _sha256 import sha256


class Service:
    """Answers the protocol's methods for one environment module. It is not thread-safe: one request at a time."""

    def __init__(self):
        self._module = None
        self._episodes = {}
        self._methods = {
            "load": self.load,
            "describe": self.describe,
            "reset": self.reset,
            "step": self.step,
            "evaluate": self.evaluate,
            "drop": self.drop,
            "task": self.task,
            "reference": self.reference,
            "hints": self.hints,
        }

    def respond(self, line):
        """Turns one request line (bytes) into one response line (bytes, with its newline).

        It never raises because of a request or the environment.
        """
        identifier = None
        try:
            try:
                request = decode(line.decode("utf-8"))
            except (ValueError, RecursionError) as error:
                raise bad_request(f"the request line is not JSON: {error}") from None
            if not isinstance(request, dict):
                raise bad_request("the request is not a JSON object")
            identifier = request.get("id")
            if type(identifier) is not int:
                identifier = None
                raise bad_request("the request's id is not an integer")
            method, params = request.get("method"), request.get("params", {})
            if method == "batch":
                text = self._batch(params)
            else:
                text = self._encoded(method, params)
            return b'{"id":%d,"result":%s}\n' % (identifier, text.encode("utf-8"))
        except RuntimeFault as fault:
            return (encode({"id": identifier, "error": fault.to_json()}) + "\n").encode("utf-8")

    def _encoded(self, method, params):
        """Runs one method and returns its result as JSON text of at most RESULT_BYTES."""
        handler = self._methods.get(method) if isinstance(method, str) else None
        if handler is None:
            raise bad_request(f"there is no method {str(method)[:60]!r}")
        if not isinstance(params, dict):
            raise bad_request(f"the params of {method} are not a JSON object")
        try:
            text = encode(handler(**params))
        except RuntimeFault:
            raise
        except BaseException as error:
            # The environment's code also runs in hooks: a metaclass, a signal handler, a lowered recursion limit. A
            # TypeError is mostly the request's fault: keyword arguments that the method does not accept.
            message, trace = describe_exception(error, self._module.source_lines if self._module else [])
            kind = "BadRequest" if isinstance(error, TypeError) and trace is None else "EnvironmentRaised"
            raise RuntimeFault(kind, f"{method}: {message}", trace) from None
        size = len(text.encode("utf-8"))
        if size > RESULT_BYTES:
            raise bad_return(f"the result of {method} has {size} bytes; the cap is {RESULT_BYTES}")
        return text

    def _batch(self, params):
        """Runs the requests in order.

        Stops when the response line could exceed its limit. Each remaining request gets NotRun; it had no effect and
        may be sent again.
        """
        requests = params.get("requests") if isinstance(params, dict) else None
        if not isinstance(requests, list) or len(requests) > MAX_BATCH:
            raise bad_request(f"batch needs `requests`, a list of at most {MAX_BATCH}")
        parts, used = [], 0
        for request in requests:
            try:
                if used + RESULT_BYTES + 16 * MESSAGE_CHARS > LINE_BYTES:
                    raise RuntimeFault("NotRun", "the response line is full; send this request again")
                if not isinstance(request, dict) or request.get("method") in ("batch", "load"):
                    raise bad_request("a request inside a batch is an object whose method is neither batch nor load")
                part = '{"result":' + self._encoded(request.get("method"), request.get("params", {})) + "}"
            except RuntimeFault as fault:
                part = encode({"error": fault.to_json()})
            parts.append(part)
            used += len(part.encode("utf-8")) + 1
        return '{"results":[' + ",".join(parts) + "]}"

    # Methods of the protocol. The request's params are their keyword arguments.

    def load(self, source, later=0):
        """Compiles and runs the module's source; a process takes one. Its clock is ahead by `later` seconds."""
        if self._module is not None:
            raise bad_request("this process has its environment; start another process for another one")
        if not isinstance(source, str):
            raise bad_request("load: source is not a string")
        if type(later) is not int:
            raise bad_request("load: later is not a number of seconds")
        if later:
            set_clock_ahead(later)
        self._module = EnvironmentModule(source)
        digest = sha256(source.encode("utf-8", "surrogatepass")).hexdigest()
        return {"apiVersion": API_VERSION, "sha256": digest, "python": sys.version.split()[0]}

    def describe(self):
        """The tools and the optional parts of the environment."""
        module = required(self._module)
        return {"tools": module.tools(), "hasSay": module.has_say, "hasHints": module.has_hints}

    def reset(self, episode, seed):
        """Starts an episode under the caller's name for it."""
        module = required(self._module)
        if type(episode) not in (str, int) or len(str(episode)) > 64:
            raise bad_request("reset: episode is neither an integer nor a string of at most 64 characters")
        if episode in self._episodes:
            raise bad_request(f"reset: episode {episode!r} is running; evaluate or drop it first")
        if len(self._episodes) >= MAX_EPISODES:
            raise bad_request(f"reset: {MAX_EPISODES} episodes are open; evaluate or drop some")
        tags = module.tags(seed)
        self._episodes[episode], messages = module.open(seed)
        return {"messages": messages, "tags": tags}

    def step(self, episode, calls=None, text=None):
        """Runs tool calls in order up to the call that ends the episode, or passes on the assistant's text."""
        state = self._episode(episode)
        if (calls is None) == (text is None):
            raise bad_request("step: give either calls or text")
        if state.done:
            raise bad_request(f"step: episode {episode!r} is over; evaluate or drop it")
        if text is None:
            check_calls("step", calls)
            return {"observations": self._module.run_calls(state, calls), "done": state.done}
        if not isinstance(text, str):
            raise bad_request("step: text is not a string")
        return {"observations": [self._module.say(state, text)], "done": state.done}

    def evaluate(self, episode):
        """The episode's reward. The episode ends in any case, even if evaluate fails."""
        state = self._episode(episode)
        del self._episodes[episode]
        return self._module.reward(state)

    def drop(self, episode):
        """Drops an episode, even an unknown one, so that a caller can always clean up."""
        self._episodes.pop(episode if type(episode) in (str, int) else None, None)
        return {}

    def task(self, seed):
        """The hidden task of a seed."""
        return {"task": required(self._module).task(seed)}

    def reference(self, seed):
        """The calls that earn reward 1 according to the environment."""
        return {"calls": required(self._module).reference(seed)}

    def hints(self, seed):
        """Hints of a task; an empty list if the environment has none."""
        return {"hints": required(self._module).hints(seed)}

    def _episode(self, episode):
        state = self._episodes.get(episode) if type(episode) in (str, int) else None
        if state is None:
            raise RuntimeFault("NoSuchEpisode", f"there is no episode {str(episode)[:64]!r}")
        return state
