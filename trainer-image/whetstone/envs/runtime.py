"""Environment runtime: serves one environment module over a pair of pipes. Standard library only, one file.

Started as ``python -I -S runtime.py [--threads N]``, inside the jail or (for the owner's own environment) without it.
Requests come in on fd 3, responses go out on fd 4, one JSON document a line. Stdout and stderr are logs.
docs/protocols.md, section 2, has the methods.

What this file guards against: an environment that raises anything, prints, replaces ``sys.stdout``, calls
``sys.exit``, or returns the wrong type, NaN, something huge, something that nests without end. Each is a typed error
of that one request.

What it does not cover: the environment's code shares this process. It can write to fd 4, patch ``builtins``, walk to
these functions through ``gc`` or frames, or end the process, so it can always forge its own result. Certification of
an environment (held-out comparison against the real task) guards against that, the jail guards everything outside, and
the parent's deadline ends what does not return. The codec and the file functions are held in private references only
so that careless patching of ``json`` or ``os`` does not break the framing by accident.
"""

import collections
import io
import json
import os
import re
import resource
import sys
import types

# The hash module's own extension: hashlib would load OpenSSL at every start.
try:
    from _sha2 import sha256
except ImportError:
    from _sha256 import sha256

API_VERSION = 1
REQUEST_FD = 3
RESPONSE_FD = 4

# Bytes unless named otherwise. sandbox/profile.json repeats the line cap for the parent; a test keeps the two equal.
LINE_BYTES = 1 << 20
RESULT_BYTES = 1 << 18
OBSERVATION_CHARS = 1 << 16
LOG_BYTES = 1 << 18
MESSAGE_CHARS = 2000
MAX_EPISODES = 4096
MAX_STEPS = 1000
MAX_CALLS = 64
MAX_BATCH = 1024
MAX_TOOLS = 128
MAX_NAME_CHARS = 200
MAX_TAGS = 64
TRACEBACK_FRAMES = 8
MAX_SEED = 2**53
MAX_DEPTH = 64

ENVIRONMENT_FILE = "environment.py"
REQUIRED = ("tools", "generate_task", "reset", "step", "evaluate", "reference_solution")

_read, _write, _exit = os.read, os.write, os._exit


def _refuse_object(value):
    raise TypeError(f"{type(value).__name__} is not JSON")


def _refuse_constant(name):
    raise ValueError(f"{name} is not JSON")


def _make_encoder():
    """Returns encode(value) -> str. NaN, foreign types and cycles raise. Built once: later patches of ``json`` do not
    reach it."""
    make = json.encoder.c_make_encoder
    if make is None:
        return json.JSONEncoder(
            ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_refuse_object
        ).encode
    chunks = make(None, _refuse_object, json.encoder.encode_basestring, None, ":", ",", False, False, False)
    join = "".join
    return lambda value: join(chunks(value, 0))


def _make_decoder():
    """Returns decode(text) -> value. Refuses NaN, Infinity and anything after the document."""
    decoder = json.JSONDecoder(parse_constant=_refuse_constant)
    scan = json.scanner.c_make_scanner(decoder) if json.scanner.c_make_scanner else decoder.scan_once

    def decode(text):
        text = text.strip()
        try:
            value, end = scan(text, 0)
        except StopIteration as stop:
            raise ValueError(f"no JSON value at character {stop.value}") from None
        if end != len(text):
            raise ValueError(f"text after the JSON document at character {end}")
        return value

    return decode


_encode = _make_encoder()
_decode = _make_decoder()


class RuntimeFault(Exception):
    """An error that becomes the response. ``kind`` is one of the protocol's error types."""

    def __init__(self, kind, message, traceback=None):
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.traceback = traceback

    def to_json(self):
        """The protocol's error object."""
        return {"type": self.kind, "message": _printable(self.message), "traceback": self.traceback}


def _printable(text):
    return text[:MESSAGE_CHARS].encode("utf-8", "replace").decode("utf-8")


def bad_request(message):
    """A request that the protocol does not allow."""
    return RuntimeFault("BadRequest", message)


def bad_return(message):
    """A value of the environment that the protocol does not allow."""
    return RuntimeFault("BadReturn", message)


class BoundedLog(io.TextIOBase):
    """Stands in for sys.stdout and sys.stderr: passes LOG_BYTES on, then swallows, so that a chatty environment
    neither blocks on a full pipe nor dies of the parent's cap."""

    def __init__(self, fd):
        self._fd = fd
        self._left = LOG_BYTES

    def writable(self):
        return True

    def fileno(self):
        return self._fd

    def write(self, text):
        if self._left > 0:
            data = str(text).encode("utf-8", "replace")[: self._left]
            self._left -= len(data)
            try:
                _write(self._fd, data)
            except OSError:
                self._left = 0
        return len(text)


class Episode:
    """One running episode: the environment's instance and what happened so far."""

    __slots__ = ("done", "instance", "seed", "trajectory")

    def __init__(self, instance, seed):
        self.instance = instance
        self.seed = seed
        self.trajectory = []
        self.done = False


def describe_exception(error, source_lines):
    """(message, short traceback or None) of an exception of the environment, with the line numbers of its source.

    The exception is the environment's object: its ``__str__`` may raise or return a hostile subclass of str, so it is
    read with the base classes' own methods and any failure ends in a fixed text.
    """
    try:
        name = str.__getitem__(type.__dict__["__name__"].__get__(type(error)), slice(0, 100))
        text = str.__getitem__(str(error), slice(0, MESSAGE_CHARS))
    except BaseException:
        name, text = "Exception", "(its text could not be read)"
    frames = collections.deque(maxlen=TRACEBACK_FRAMES)
    step = error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        if code.co_filename == ENVIRONMENT_FILE:
            frames.append((step.tb_lineno, code.co_name))
        step = step.tb_next
    if type(error) in (SyntaxError, IndentationError, TabError) and error.filename == ENVIRONMENT_FILE:
        frames.append((error.lineno, "<module>"))
    lines = []
    for number, function in frames:
        source = source_lines[number - 1].strip()[:160] if 0 < (number or 0) <= len(source_lines) else ""
        lines.append(f"{ENVIRONMENT_FILE}:{number} in {function}: {source}")
    return f"{name}: {text}", _printable("\n".join(lines)) or None


class Service:
    """Answers the protocol's methods for one environment module. Not thread-safe: one request at a time."""

    def __init__(self):
        self._class = None
        self._source_lines = []
        self._has_say = False
        self._has_hints = False
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
            "score": self.score,
        }

    def respond(self, line):
        """One request line (bytes) to one response line (bytes, with its newline). Never raises for what a request or
        the environment does."""
        identifier = None
        try:
            try:
                request = _decode(line.decode("utf-8"))
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
            return (_encode({"id": identifier, "error": fault.to_json()}) + "\n").encode("utf-8")

    def _encoded(self, method, params):
        """Runs one method and returns its result as JSON text of at most RESULT_BYTES."""
        handler = self._methods.get(method) if isinstance(method, str) else None
        if handler is None:
            raise bad_request(f"there is no method {str(method)[:60]!r}")
        if not isinstance(params, dict):
            raise bad_request(f"the params of {method} are not a JSON object")
        try:
            text = _encode(handler(**params))
        except RuntimeFault:
            raise
        except BaseException as error:
            # The environment runs through hooks too: a metaclass, a signal handler, a lowered recursion limit.
            # TypeError is mostly the request's: keyword arguments that the method does not take.
            message, trace = describe_exception(error, self._source_lines)
            kind = "BadRequest" if isinstance(error, TypeError) and trace is None else "EnvironmentRaised"
            raise RuntimeFault(kind, f"{method}: {message}", trace) from None
        size = len(text.encode("utf-8"))
        if size > RESULT_BYTES:
            raise bad_return(f"the result of {method} has {size} bytes; the cap is {RESULT_BYTES}")
        return text

    def _batch(self, params):
        """Runs the requests in order. Stops running when the response line could grow past its cap: what is left gets
        NotRun, has had no effect, and may be sent again."""
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
                part = _encode({"error": fault.to_json()})
            parts.append(part)
            used += len(part.encode("utf-8")) + 1
        return '{"results":[' + ",".join(parts) + "]}"

    # Methods of the protocol. Keyword arguments are the request's params.

    def load(self, source):
        """Compiles and runs the module's source; a process takes one."""
        if self._class is not None:
            raise bad_request("this process has its environment; start another process for another one")
        if not isinstance(source, str):
            raise bad_request("load: source is not a string")
        self._source_lines = source.splitlines()
        module = types.ModuleType("environment")
        module.__file__ = ENVIRONMENT_FILE
        # dataclasses and pickle look a class's module up by name.
        sys.modules["environment"] = module

        def run():
            exec(compile(source, ENVIRONMENT_FILE, "exec", dont_inherit=True), module.__dict__)

        self._call("the module", run)
        found = module.__dict__.get("Environment")
        if not isinstance(found, type):
            raise bad_return("the module defines no class `Environment`")
        missing = [name for name in REQUIRED if not callable(self._attribute(found, name))]
        if missing:
            raise bad_return(f"class Environment lacks: {', '.join(missing)}")
        self._has_say = callable(self._attribute(found, "say"))
        self._has_hints = callable(self._attribute(found, "hints"))
        self._class = found
        digest = sha256(source.encode("utf-8", "surrogatepass")).hexdigest()
        return {"apiVersion": API_VERSION, "sha256": digest, "python": sys.version.split()[0]}

    def describe(self):
        """The tools and the optional parts that the environment has."""
        tools = self._plain("tools", self._call("tools", self._environment().tools))
        check_tools(tools)
        return {"tools": tools, "hasSay": self._has_say, "hasHints": self._has_hints}

    def reset(self, episode, seed):
        """Starts an episode under the caller's name for it."""
        self._environment()
        if type(episode) not in (str, int) or len(str(episode)) > 64:
            raise bad_request("reset: episode is neither an integer nor a string of at most 64 characters")
        if episode in self._episodes:
            raise bad_request(f"reset: episode {episode!r} is running; evaluate or drop it first")
        if len(self._episodes) >= MAX_EPISODES:
            raise bad_request(f"reset: {MAX_EPISODES} episodes are open; evaluate or drop some")
        tags = self._task(seed).get("tags", [])
        is_text = isinstance(tags, list) and all(isinstance(tag, str) for tag in tags)
        if not is_text or len(tags) > MAX_TAGS:
            raise bad_return(f"generate_task: `tags` is not a list of at most {MAX_TAGS} strings")
        state, messages = self._open(seed)
        self._episodes[episode] = state
        return {"messages": messages, "tags": tags}

    def step(self, episode, calls=None, text=None):
        """Runs tool calls in order up to the one that ends the episode, or passes the assistant's text on."""
        state = self._episode(episode)
        if (calls is None) == (text is None):
            raise bad_request("step: give either calls or text")
        if state.done:
            raise bad_request(f"step: episode {episode!r} is over; evaluate or drop it")
        if text is None:
            check_calls("step", calls)
            return {"observations": self._run_calls(state, calls), "done": state.done}
        if not isinstance(text, str):
            raise bad_request("step: text is not a string")
        if self._has_say:
            answer = self._call("say", state.instance.say, text)
            observation, done = self._observation("say", answer)
        else:
            observation, done = "", True
        state.trajectory.append({"text": text, "observation": observation})
        state.done = done or len(state.trajectory) >= MAX_STEPS
        return {"observations": [observation], "done": state.done}

    def evaluate(self, episode):
        """The episode's reward. The episode ends, whatever evaluate does."""
        state = self._episode(episode)
        del self._episodes[episode]
        return self._reward(state)

    def drop(self, episode):
        """Forgets an episode; unknown ones too, so that a caller can clean up blindly."""
        self._episodes.pop(episode if type(episode) in (str, int) else None, None)
        return {}

    def task(self, seed):
        """The hidden task of a seed."""
        return {"task": self._task(seed)}

    def reference(self, seed):
        """The calls that the environment says earn reward 1."""
        returned = self._call("reference_solution", self._environment().reference_solution, self._task(seed))
        calls = self._plain("reference_solution", returned)
        try:
            check_calls("reference_solution", calls)
        except RuntimeFault as fault:
            raise bad_return(fault.message) from None
        return {"calls": [{"name": call["name"], "arguments": call["arguments"]} for call in calls]}

    def hints(self, seed):
        """Hints of a task; an empty list where the environment has none."""
        if not self._has_hints:
            return {"hints": []}
        hints = self._plain("hints", self._call("hints", self._environment().hints, self._task(seed)))
        if not isinstance(hints, list) or not all(isinstance(hint, str) for hint in hints):
            raise bad_return("hints did not return a list of strings")
        return {"hints": hints}

    def score(self, seed, calls):
        """The reward of scripted calls in a fresh episode."""
        check_calls("score", calls, limit=MAX_STEPS)
        state, _ = self._open(seed)
        self._run_calls(state, calls)
        return self._reward(state)

    # Calls into the environment, and checks of what it returns.

    def _environment(self):
        if self._class is None:
            raise bad_request("no environment is loaded; send load first")
        return self._class

    def _episode(self, episode):
        state = self._episodes.get(episode) if type(episode) in (str, int) else None
        if state is None:
            raise RuntimeFault("NoSuchEpisode", f"there is no episode {str(episode)[:64]!r}")
        return state

    def _call(self, name, function, *arguments):
        """Calls the environment. BaseException: SystemExit and KeyboardInterrupt raised by it are its failures, not
        ours."""
        try:
            return function(*arguments)
        except BaseException as error:
            message, trace = describe_exception(error, self._source_lines)
        raise RuntimeFault("EnvironmentRaised", f"{name}: {message}", trace)

    def _attribute(self, found, name):
        return self._call(f"class Environment, {name}", getattr, found, name, None)

    def _plain(self, name, value):
        """A copy of the value made of plain JSON types, so that no object of the environment outlives the call."""
        try:
            text = _encode(value)
            if len(text) <= RESULT_BYTES:
                text.encode("utf-8")
                check_depth(text)
                return _decode(text)
        except BaseException as error:
            # An object's own methods (items(), __iter__) may run and raise anything here.
            reason = describe_exception(error, [])[0]
            raise bad_return(f"{name} returned something that is not JSON ({reason})") from None
        raise bad_return(f"{name} returned {len(text)} characters of JSON; the cap is {RESULT_BYTES}")

    def _task(self, seed):
        if type(seed) is not int or abs(seed) > MAX_SEED:
            raise bad_request("seed is not an integer of at most 53 bits")
        task = self._plain("generate_task", self._call("generate_task", self._environment().generate_task, seed))
        if not isinstance(task, dict):
            raise bad_return("generate_task did not return a dict")
        return task

    def _open(self, seed):
        if type(seed) is not int or abs(seed) > MAX_SEED:
            raise bad_request("seed is not an integer of at most 53 bits")
        instance = self._call("Environment()", self._environment())
        messages = self._plain("reset", self._call("reset", lambda: instance.reset(seed)))
        valid = isinstance(messages, list) and messages and all(is_message(message) for message in messages)
        if not valid:
            raise bad_return("reset did not return a list of {role: system|user, content: str}")
        return Episode(instance, seed), messages

    def _run_calls(self, state, calls):
        observations = []
        for call in calls:
            if state.done:
                break
            call = {"name": call["name"], "arguments": call["arguments"]}
            # The environment gets its own copy: what it does to the arguments must not change the recorded trajectory.
            handed = _decode(_encode(call))
            answer = self._call("step", lambda handed=handed: state.instance.step(handed))
            observation, done = self._observation("step", answer)
            state.trajectory.append({"call": call, "observation": observation})
            state.done = done or len(state.trajectory) >= MAX_STEPS
            observations.append(observation)
        return observations

    def _observation(self, name, answer):
        answer = self._plain(name, answer)
        if not isinstance(answer, dict):
            raise bad_return(f"{name} did not return a dict")
        observation, done = answer.get("observation"), answer.get("done")
        if not isinstance(observation, str) or not isinstance(done, bool):
            raise bad_return(f'{name} did not return {{"observation": str, "done": bool}}')
        if len(observation) > OBSERVATION_CHARS:
            raise bad_return(f"{name} returned {len(observation)} characters; the cap is {OBSERVATION_CHARS}")
        return observation, done

    def _reward(self, state):
        task = self._task(state.seed)
        returned = self._call("evaluate", self._environment().evaluate, _decode(_encode(state.trajectory)), task)
        value = self._plain("evaluate", returned)
        diagnostics = {}
        if isinstance(value, dict):
            diagnostics = value.get("diagnostics", {})
            value = value.get("reward")
            known = isinstance(diagnostics, dict) and all(
                mark in ("lacking", "present") for mark in diagnostics.values()
            )
            if not known:
                raise bad_return('evaluate: `diagnostics` is not a dict of "lacking" or "present"')
        # NaN fails both comparisons.
        if type(value) not in (int, float) or not 0 <= value <= 1:
            raise bad_return(f"evaluate returned {str(value)[:60]}; a reward is a number in [0, 1]")
        return {"reward": float(value), "diagnostics": diagnostics}


def check_depth(text):
    """Raises ValueError for JSON text that nests deeper than MAX_DEPTH: readers further on may walk it recursively."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    depth, in_string, escaped = 0, False, False
    for character in text:
        if in_string:
            if escaped:
                escaped = False
            elif character == "\\":
                escaped = True
            elif character == '"':
                in_string = False
        elif character == '"':
            in_string = True
        elif character in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise ValueError(f"it nests deeper than {MAX_DEPTH}")
        elif character in "]}":
            depth -= 1


def is_message(message):
    """Whether a value is an opening message."""
    return (
        isinstance(message, dict)
        and message.get("role") in ("system", "user")
        and isinstance(message.get("content"), str)
        and len(message) == 2
    )


def check_calls(name, calls, limit=MAX_CALLS):
    """Raises BadRequest unless calls is a list of {name: str, arguments: dict}."""
    if not isinstance(calls, list) or len(calls) > limit:
        raise bad_request(f"{name}: calls is not a list of at most {limit}")
    for call in calls:
        name_of, arguments = (call.get("name"), call.get("arguments")) if isinstance(call, dict) else (None, None)
        if not isinstance(name_of, str) or len(name_of) > MAX_NAME_CHARS or not isinstance(arguments, dict):
            raise bad_request(f"{name}: a call is not {{name: str, arguments: object}}")


def check_tools(tools):
    """Raises BadReturn unless tools is a list of OpenAI function tools with distinct names."""
    if not isinstance(tools, list) or not 0 < len(tools) <= MAX_TOOLS:
        raise bad_return(f"tools did not return a list of 1 to {MAX_TOOLS} tools")
    names = set()
    for tool in tools:
        function = tool.get("function") if isinstance(tool, dict) and tool.get("type") == "function" else None
        if not isinstance(function, dict):
            raise bad_return('tools: a tool is not {"type": "function", "function": {...}}')
        name = function.get("name")
        valid_name = isinstance(name, str) and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", name)
        if not valid_name:
            raise bad_return(f"tools: {str(name)[:60]!r} is not a function name (letters, digits, _ and -, at most 64)")
        if not isinstance(function.get("description", ""), str) or not isinstance(function.get("parameters", {}), dict):
            raise bad_return(f"tools: {name} needs a string `description` and an object `parameters`")
        if name in names:
            raise bad_return(f"tools: {name} is there twice")
        names.add(name)


def write_all(data):
    """Writes every byte to the response pipe."""
    view = memoryview(data)
    while view:
        view = view[_write(RESPONSE_FD, view) :]


def serve(service):
    """Answers lines until the request pipe closes. A line over the cap ends the process: the framing is lost."""
    respond = service.respond
    pending = bytearray()
    while True:
        chunk = _read(REQUEST_FD, 1 << 18)
        if not chunk:
            return 0
        pending += chunk
        if b"\n" not in chunk:
            if len(pending) > LINE_BYTES:
                return 64
            continue
        *lines, rest = bytes(pending).split(b"\n")
        pending = bytearray(rest)
        for line in lines:
            if len(line) > LINE_BYTES:
                return 64
            write_all(respond(line))


def main(arguments):
    """Limits the number of threads, closes foreign files, points the logs at bounded writers and serves."""
    if arguments[:1] == ["--threads"]:
        # Set here, inside the user namespace, because outside it the limit would count every process of the same user.
        limit = int(arguments[1])
        resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit))
    # What the launcher inherited without close-on-exec from its own parents must not reach the environment.
    os.closerange(RESPONSE_FD + 1, 1 << 20)
    sys.stdout, sys.stderr = BoundedLog(1), BoundedLog(2)
    sys.__stdout__, sys.__stderr__ = sys.stdout, sys.stderr
    code = 70
    try:
        code = serve(Service())
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        # At a normal exit the interpreter would run the environment's atexit functions and __del__ methods.
        _exit(code)


if __name__ == "__main__":
    main(sys.argv[1:])
