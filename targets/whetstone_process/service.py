"""The protocol's methods. Each request is answered once, from the thread of its episode, in any order."""

import json
import queue
import re
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

from .checks import LINE_BYTES, Fault, bad_request, check_step, check_task, encoded, observations, opening, score, spent
from .environment import TaskFailed

API_VERSION = 2
MAX_EPISODES = 4096
MAX_STEPS = 1000
MAX_STUCK = 256
"""Threads of dropped episodes whose code did not return. With more, no episode begins: Python cannot end a thread."""
CLOSE_SECONDS = 1
"""How long the end of the process waits for the author's `close` of all open episodes together."""
TRACEBACK_FRAMES = 8


class Request:
    """A request that waits for its answer."""

    def __init__(self, service, identifier):
        self._service, self._identifier = service, identifier
        self._lock, self._is_answered = threading.Lock(), False

    def answer(self, work, limit=None):
        """Answers with what ``work`` returns or raises. A request that was answered meanwhile stays as it is."""
        try:
            document = {"id": self._identifier, "result": work()}
            line = encoded(document) if limit is None else encoded(document, limit)
        except Fault as fault:
            line = encoded({"id": self._identifier, "error": fault.to_json()})
        with self._lock:
            if self._is_answered:
                return
            self._is_answered = True
        self._service.answered(self, line)


class Seat:
    """An episode with its thread and the requests that wait for it."""

    def __init__(self, service, name):
        self._service, self.name = service, name
        self._work, self._episode = queue.SimpleQueue(), None
        self._lock, self._waiting = threading.Lock(), []
        self._is_over = self._is_closed = self._has_failed = False
        self._steps = 0
        self._threads = []
        self._start(self._run)

    @property
    def is_stuck(self):
        """Whether the episode is over while a thread still runs the author's code."""
        return self._is_over and any(thread.is_alive() for thread in list(self._threads))

    @property
    def spent(self):
        """The tokens that the episode has spent, as far as it knows; else None."""
        return spent(self._episode)

    def ask(self, request, method, params):
        """Queues a request."""
        with self._lock:
            if not self._is_over:
                self._waiting.append(request)
                self._work.put((request, method, params))
                return
        request.answer(self._gone)

    def end(self):
        """Ends the episode without waiting for the author's code. What waits is answered."""
        with self._lock:
            self._is_over = True
            waiting, self._waiting = self._waiting, []
        self._work.put(None)
        for request in waiting:
            request.answer(self._gone)
        if waiting:
            # The episode's thread is in the author's code, which may wait for the close. Otherwise that thread closes.
            self._start(self._close)

    def join(self, deadline):
        """Waits for the `close` of an episode that was ended, at most until a time of the monotonic clock."""
        # The last thread closes.
        self._threads[-1].join(max(0, deadline - time.monotonic()))

    def _start(self, work):
        thread = threading.Thread(target=work, name=f"episode-{self.name}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _run(self):
        while (work := self._work.get()) is not None and not self._is_over:
            request, method, params = work
            request.answer(lambda method=method, params=params: self._answer(method, params))
            with self._lock:
                self._waiting = [waiting for waiting in self._waiting if waiting is not request]
            if method == "evaluate" or self._has_failed:
                self.end()
        self._close()

    def _answer(self, method, params):
        """The result of a method. A fault ends this episode and no other."""
        self._has_failed = False
        try:
            return called(method, lambda: getattr(self, f"_{method}")(**params))
        except Fault as fault:
            self._has_failed = method == "reset" or fault.kind != "BadRequest"
            if self._has_failed:
                fault.usage = self.spent
            raise
        finally:
            if method == "evaluate" or self._has_failed:
                # The name is free before the caller knows.
                self._service.forget(self)

    def _reset(self, seed, task=None):
        check_task(seed, task)
        environment = self._service.environment
        self._episode = environment.open(task, seed)
        tools = environment.tools if self._episode.tools is None else self._episode.tools
        self._episode.known_tools = frozenset(tool["function"]["name"] for tool in tools)
        return opening(self._episode)

    def _step(self, calls=None, text=None):
        check_step(calls, text)
        episode = self._episode
        if episode.done and self._steps > 0:
            raise bad_request(f"step: episode {self.name!r} is over; evaluate or drop it")
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise bad_request(f"step: an episode has at most {MAX_STEPS} steps")
        if episode.done:
            # The user left before the agent said anything.
            return {"observations": ["" for _ in calls or [""]], "done": True}
        returned = episode.say(text) if calls is None else episode.calls(calls, text)
        return observations(returned, episode.done, calls)

    def _evaluate(self):
        return score(self._episode.evaluate(), self._episode)

    def _gone(self):
        raise Fault("NoSuchEpisode", f"episode {self.name!r} is over")

    def _close(self):
        with self._lock:
            if self._is_closed or self._episode is None:
                return
            self._is_closed = True
        try:
            self._episode.close()
        except Exception:
            traceback.print_exc()


class Service:
    """Answers request lines for one environment. ``write`` takes a whole line and may be called by every thread."""

    def __init__(self, environment, write):
        self.environment, self._write = environment, write
        self._lock, self._seats, self._stuck, self._open_requests = threading.Lock(), {}, [], set()
        self._shared = ThreadPoolExecutor(4, "tasks")

    def handle(self, line):
        """Takes one request line; the answer comes later."""
        identifier = None
        try:
            try:
                request = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise bad_request(f"the request line is not JSON: {error}") from None
            identifier = request.get("id") if isinstance(request, dict) else None
            if type(identifier) is not int:
                identifier = None
                raise bad_request("the request is not an object with an integer `id`")
            method, params = request.get("method"), request.get("params", {})
            if not isinstance(params, dict):
                raise bad_request(f"the params of {method} are not an object")
            self._dispatch(identifier, method, params)
        except Fault as fault:
            self._write(encoded({"id": identifier, "error": fault.to_json()}) + b"\n")

    def beat(self):
        """The line that shows that this process lives, while requests wait; else None."""
        with self._lock:
            counts = {"open": len(self._seats), "waiting": len(self._open_requests)}
        return encoded({"beat": counts}) + b"\n" if counts["waiting"] > 0 else None

    def answered(self, request, line):
        """Sends the answer of a request."""
        with self._lock:
            self._open_requests.discard(request)
        self._write(line + b"\n")

    def forget(self, seat):
        """Frees the name of an episode that is over."""
        with self._lock:
            if self._seats.get(seat.name) is seat:
                del self._seats[seat.name]

    def close(self):
        """Ends every episode, and waits a while for its `close`."""
        with self._lock:
            seats = list(self._seats.values())
        for seat in seats:
            self.forget(seat)
            seat.end()
        deadline = time.monotonic() + CLOSE_SECONDS
        for seat in seats:
            seat.join(deadline)

    def _dispatch(self, identifier, method, params):
        request = Request(self, identifier)
        if method == "drop":
            usage = self._drop(params.get("episode"))
            result = {} if usage is None else {"usage": usage}
            self._write(encoded({"id": identifier, "result": result}) + b"\n")
        elif method in ("reset", "step", "evaluate"):
            episode, rest = params.get("episode"), {name: params[name] for name in params if name != "episode"}
            seat = self._seat(method, episode)
            with self._lock:
                self._open_requests.add(request)
            seat.ask(request, method, rest)
        elif method in ("hello", "tasks", "describe", "task", "reference"):
            with self._lock:
                self._open_requests.add(request)
            answer = getattr(self, f"_{method}")
            limit = LINE_BYTES if method == "tasks" else None
            self._shared.submit(request.answer, lambda: called(method, lambda: answer(**params)), limit)
        else:
            raise bad_request(f"there is no method {str(method)[:60]!r}")

    def _seat(self, method, name):
        if not isinstance(name, str) or len(name) > 64:
            raise bad_request(f"{method}: episode is not a string of at most 64 characters")
        with self._lock:
            seat = self._seats.get(name)
            if method != "reset":
                if seat is None:
                    raise Fault("NoSuchEpisode", f"there is no episode {name!r}")
                return seat
            if seat is not None:
                raise bad_request(f"reset: episode {name!r} is running; evaluate or drop it first")
            if len(self._seats) >= MAX_EPISODES:
                raise bad_request(f"reset: {MAX_EPISODES} episodes are open; evaluate or drop some")
            self._stuck = [stuck for stuck in self._stuck if stuck.is_stuck]
            if len(self._stuck) >= MAX_STUCK:
                stuck = f"the code of {len(self._stuck)} dropped episodes never returned; start the process again"
                raise Fault("TaskFailed", stuck, cause="stuck")
            self._seats[name] = Seat(self, name)
            return self._seats[name]

    def _drop(self, name):
        with self._lock:
            seat = self._seats.pop(name, None) if isinstance(name, str) else None
        if seat is None:
            return None
        seat.end()
        with self._lock:
            self._stuck.append(seat)
        return seat.spent

    def _hello(self, apiVersion):
        if apiVersion != API_VERSION:
            raise bad_request(f"hello: this process speaks version {API_VERSION} of the protocol, not {apiVersion}")
        return {"apiVersion": API_VERSION, **self.environment.hello()}

    def _tasks(self):
        found = self.environment.tasks()
        return {"tasks": None if found is None else list(found)}

    def _describe(self):
        return self.environment.describe()

    def _task(self, seed, task=None):
        check_task(seed, task)
        return {"task": self.environment.task(task, seed)}

    def _reference(self, seed, task=None):
        check_task(seed, task)
        return {"calls": self.environment.reference(task, seed)}


def cause_of(failed):
    """The cause in the form that the protocol allows; `other` for another one."""
    cause = str(failed.cause)
    return cause if re.fullmatch(r"[a-z][a-z0-9-]{0,39}", cause) else "other"


def called(method, work):
    """What ``work`` returns. Whatever it raises becomes a fault; an exception of the author's code fails the task."""
    try:
        return work()
    except Fault:
        raise
    except TaskFailed as failed:
        raise Fault("TaskFailed", f"{method}: {failed}", cause=cause_of(failed)) from None
    except BaseException as error:
        frames = traceback.format_tb(error.__traceback__)[1:][-TRACEBACK_FRAMES:]
        message = f"{method}: {type(error).__name__}: {error}"
        raise Fault("TaskFailed", message, "".join(frames)[-4000:], "raised") from None
