"""The rules for requests and for what an author's code returns."""

import json

LINE_BYTES = 1 << 20
RESULT_BYTES = 1 << 18
OBSERVATION_CHARS = 1 << 16
MESSAGE_CHARS = 2000
MAX_CALLS = 64
MAX_NAME_CHARS = 200
MAX_SEED = 2**53
MAX_TAGS = 64
MAX_TOKENS = 10**9
ROLES = ("system", "user", "assistant")


class Fault(Exception):
    """An error that becomes the response. ``kind`` is one of the protocol's error types."""

    def __init__(self, kind, message, traceback=None, cause=None):
        super().__init__(message)
        self.kind, self.message, self.traceback, self.cause = kind, message, traceback, cause
        self.usage = None

    def to_json(self):
        """The protocol's error object."""
        error = {"type": self.kind, "message": self.message[:MESSAGE_CHARS], "traceback": self.traceback}
        more = {"cause": self.cause, "usage": self.usage}
        return error | {name: value for name, value in more.items() if value is not None}


def bad_request(message):
    """A request that the protocol does not allow."""
    return Fault("BadRequest", message)


def bad_return(message):
    """A value of the author's code that the protocol does not allow."""
    return Fault("BadReturn", message)


def check_task(seed, task):
    """Raises BadRequest unless seed is an integer of at most 53 bits and task a string or None."""
    if type(seed) is not int or abs(seed) > MAX_SEED:
        raise bad_request("seed is not an integer of at most 53 bits")
    if task is not None and not isinstance(task, str):
        raise bad_request("task is not a string")


def check_step(calls, text):
    """Raises BadRequest unless a step has calls, a text, or both."""
    if calls is None and text is None:
        raise bad_request("step: give calls, text, or both")
    if text is not None and not isinstance(text, str):
        raise bad_request("step: text is not a string")
    if calls is None:
        return
    if not isinstance(calls, list) or not 0 < len(calls) <= MAX_CALLS:
        raise bad_request(f"step: calls is not a list of 1 to {MAX_CALLS}")
    for call in calls:
        name, arguments = (call.get("name"), call.get("arguments")) if isinstance(call, dict) else (None, None)
        if not isinstance(name, str) or len(name) > MAX_NAME_CHARS or not isinstance(arguments, dict):
            raise bad_request("step: a call is not {name: str, arguments: object}")


def opening(episode):
    """The opening of an episode, checked."""
    messages, tags = list(episode.messages), list(episode.tags)
    if not messages:
        raise bad_return("open: the episode has no messages")
    for message in messages:
        fits = isinstance(message, dict) and set(message) == {"role", "content"}
        if (
            not fits
            or message["role"] not in ("system", "user", "assistant")
            or not isinstance(message["content"], str)
        ):
            raise bad_return('open: a message is not {"role": system, user or assistant, "content": str}')
    if messages[-1]["role"] == "assistant":
        raise bad_return("open: the last message is the assistant's; the agent answers a message of the user")
    if len(tags) > MAX_TAGS or not all(isinstance(tag, str) for tag in tags):
        raise bad_return(f"open: tags is not a list of at most {MAX_TAGS} strings")
    opened = {"messages": messages, "tags": tags}
    return opened if episode.tools is None else {**opened, "tools": list(episode.tools)}


def observations(returned, done, calls):
    """The result of a step: an observation for each call, or up to the call that ended the episode."""
    method = "say" if calls is None else "calls"
    found = [returned] if calls is None else returned
    if not isinstance(found, (list, tuple)) or not all(isinstance(text, str) for text in found):
        raise bad_return(f"{method}: what the agent reads is not a string")
    wanted = 1 if calls is None else len(calls)
    if len(found) > wanted or (len(found) < wanted and not done) or not found:
        raise bad_return(f"{method}: {len(found)} observations for {wanted} calls")
    longest = max(len(text) for text in found)
    if longest > OBSERVATION_CHARS:
        raise bad_return(f"{method}: an observation of {longest} characters; the cap is {OBSERVATION_CHARS}")
    return {"observations": list(found), "done": bool(done)}


def score(returned, episode):
    """The result of evaluate."""
    value = returned if isinstance(returned, dict) else {"reward": returned}
    unknown = set(value) - {"reward", "parts", "diagnostics"}
    if unknown:
        raise bad_return(f"evaluate: there is no field {sorted(unknown)[0]!r}; reward, parts, diagnostics are")
    reward = value.get("reward")
    if type(reward) not in (int, float) or not 0 <= reward <= 1:
        raise bad_return(f"evaluate: {str(reward)[:60]!r} is not a number in [0, 1]")
    diagnostics = value.get("diagnostics", {})
    if not isinstance(diagnostics, dict) or not set(diagnostics.values()) <= {"lacking", "present"}:
        raise bad_return('evaluate: diagnostics is not a dict of "lacking" or "present"')
    usage = spent(episode)
    if usage is None and episode.usage is not None:
        raise bad_return(f"evaluate: usage is not {{promptTokens, completionTokens}}, integers from 0 to {MAX_TOKENS}")
    more = {} if usage is None else {"usage": usage}
    return {**value, "reward": float(reward), "diagnostics": diagnostics, **more}


def spent(episode):
    """The tokens that an episode has spent; None if it does not know, or says something else than tokens."""
    usage = None if episode is None else episode.usage
    if not isinstance(usage, dict) or set(usage) != {"promptTokens", "completionTokens"}:
        return None
    # A copy: the episode may go on counting.
    usage = dict(usage)
    return usage if all(type(count) is int and 0 <= count <= MAX_TOKENS for count in usage.values()) else None


def encoded(document, limit=RESULT_BYTES):
    """A line of the protocol without its end. Lone surrogates become question marks. @raises Fault"""
    try:
        data = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode(
            "utf-8", "replace"
        )
    except (TypeError, ValueError, RecursionError) as error:
        raise bad_return(f"a value is not JSON: {error}") from None
    if len(data) > limit:
        raise bad_return(f"a result of {len(data)} bytes; the cap is {limit}")
    return data
