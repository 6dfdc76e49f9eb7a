"""The environment's module: every call into its code, and every check of its results."""

import sys

from .checks import check_moves, check_seed, check_tools, is_message
from .codec import check_depth, decode, encode
from .faults import ENVIRONMENT_FILE, RuntimeFault, bad_request, bad_return, describe_exception
from .limits import MAX_STEPS, MAX_TAGS, OBSERVATION_CHARS, RESULT_BYTES

REQUIRED = ("tools", "generate_task", "reset", "step", "evaluate", "reference_solution")


class Episode:
    """One running episode: the environment's instance and its history so far."""

    __slots__ = ("done", "instance", "seed", "trajectory")

    def __init__(self, instance, seed):
        self.instance = instance
        self.seed = seed
        self.trajectory = []
        self.done = False

    def record(self, entry, done):
        """Adds one step to the history; an episode ends by itself after MAX_STEPS."""
        self.trajectory.append(entry)
        self.done = done or len(self.trajectory) >= MAX_STEPS


class EnvironmentModule:
    """A loaded class ``Environment``. Methods raise RuntimeFault: EnvironmentRaised, BadReturn, BadRequest."""

    def __init__(self, source):
        # None until the source proves to be an environment's: see describe_exception.
        self.source_lines = None
        module = type(sys)("environment")
        module.__file__ = ENVIRONMENT_FILE
        # dataclasses and pickle look up a class's module by name.
        sys.modules["environment"] = module

        code = self.call("the module", lambda: compile(source, ENVIRONMENT_FILE, "exec", dont_inherit=True))
        lines = source.splitlines()
        if defines_environment(code, lines):
            self.source_lines = lines
        self.call("the module", lambda: exec(code, module.__dict__))
        found = module.__dict__.get("Environment")
        if not isinstance(found, type):
            raise bad_return("the module defines no class `Environment`")
        self.source_lines = lines
        missing = [name for name in REQUIRED if not callable(self._attribute(found, name))]
        if missing:
            raise bad_return(f"class Environment lacks: {', '.join(missing)}")
        self.has_say = callable(self._attribute(found, "say"))
        self.has_hints = callable(self._attribute(found, "hints"))
        self._class = found

    def call(self, name, function, *arguments):
        """Calls the environment.

        BaseException: SystemExit and KeyboardInterrupt from the environment are its failures, not ours.
        """
        try:
            return function(*arguments)
        except BaseException as error:
            message, trace = describe_exception(error, self.source_lines)
        raise RuntimeFault("EnvironmentRaised", f"{name}: {message}", trace)

    def tools(self):
        """The tools, checked."""
        tools = plain("tools", self.call("tools", self._class.tools))
        check_tools(tools)
        return tools

    def task(self, seed):
        """The hidden task of a seed."""
        check_seed(seed)
        task = plain("generate_task", self.call("generate_task", self._class.generate_task, seed))
        if not isinstance(task, dict):
            raise bad_return("generate_task did not return a dict")
        return task

    def tags(self, seed):
        """The ground-truth tags of a seed's task; empty if it has none."""
        tags = self.task(seed).get("tags", [])
        is_text = isinstance(tags, list) and all(isinstance(tag, str) for tag in tags)
        if not is_text or len(tags) > MAX_TAGS:
            raise bad_return(f"generate_task: `tags` is not a list of at most {MAX_TAGS} strings")
        return tags

    def open(self, seed):
        """(Episode, opening messages) of a seed."""
        check_seed(seed)
        instance = self.call("Environment()", self._class)
        messages = plain("reset", self.call("reset", lambda: instance.reset(seed)))
        valid = isinstance(messages, list) and messages and all(is_message(message) for message in messages)
        if not valid:
            raise bad_return("reset did not return a list of {role: system|user, content: str}")
        return Episode(instance, seed), messages

    def run_calls(self, episode, calls):
        """Observations of the calls, in order, up to the call that ends the episode."""
        observations = []
        for call in calls:
            if episode.done:
                break
            call = {"name": call["name"], "arguments": call["arguments"]}
            # The environment gets a copy, so that it cannot change the recorded trajectory through the arguments.
            handed = decode(encode(call))
            answer = self.call("step", lambda handed=handed: episode.instance.step(handed))
            observation, done = checked_observation("step", answer)
            episode.record({"call": call, "observation": observation}, done)
            observations.append(observation)
        return observations

    def say(self, episode, text):
        """The environment's answer to the assistant's text; without ``say`` the text ends the episode."""
        observation, done = "", True
        if self.has_say:
            observation, done = checked_observation("say", self.call("say", episode.instance.say, text))
        episode.record({"text": text, "observation": observation}, done)
        return observation

    def reward(self, episode):
        """{"reward", "diagnostics"} of an episode."""
        task = self.task(episode.seed)
        value = plain("evaluate", self.call("evaluate", self._class.evaluate, decode(encode(episode.trajectory)), task))
        diagnostics = {}
        if isinstance(value, dict):
            if "reward" not in value:
                raise bad_return("evaluate returned a dict without `reward`")
            diagnostics = value.get("diagnostics", {})
            value = value["reward"]
            known = isinstance(diagnostics, dict) and all(
                mark in ("lacking", "present") for mark in diagnostics.values()
            )
            if not known:
                raise bad_return('evaluate: `diagnostics` is not a dict of "lacking" or "present"')
        is_number = type(value) in (int, float)
        reward = without_rounding(value) if is_number else None
        if reward is None or not 0 <= reward <= 1:
            kind = "" if is_number else f" of type {type(value).__name__}"
            raise bad_return(f"evaluate returned {repr(value)[:60]}{kind}; a reward is a number in [0, 1]")
        return {"reward": float(reward), "diagnostics": diagnostics}

    def reference(self, seed):
        """The moves that earn reward 1 according to the environment: calls and texts."""
        returned = self.call("reference_solution", self._class.reference_solution, self.task(seed))
        moves = plain("reference_solution", returned)
        try:
            check_moves("reference_solution", moves)
        except RuntimeFault as fault:
            raise bad_return(fault.message) from None
        return [
            {"text": move["text"]} if "text" in move else {"name": move["name"], "arguments": move["arguments"]}
            for move in moves
        ]

    def hints(self, seed):
        """Hints of a task; empty if the environment has none."""
        if not self.has_hints:
            return []
        hints = plain("hints", self.call("hints", self._class.hints, self.task(seed)))
        if not isinstance(hints, list) or not all(isinstance(hint, str) for hint in hints):
            raise bad_return("hints did not return a list of strings")
        return hints

    def _attribute(self, found, name):
        return self.call(f"class Environment, {name}", getattr, found, name, None)


def defines_environment(code, lines):
    """Whether compiled code has a name `Environment`, and one of its lines begins such a class.

    Other files may also have that name. If an earlier statement always raises, the class is not a constant of the code.
    """
    starts = ("class Environment:", "class Environment(")
    return "Environment" in code.co_names and any(line.lstrip().startswith(starts) for line in lines)


def without_rounding(value):
    """The number of six decimals that is next to a number, if one is: ten times 0.1 makes 0.9999999999999999, which is
    meant as 1. ``contracts/reward.ts`` does the same to rewards that come from elsewhere."""
    near = round(value, 6)
    return (near or 0.0) if abs(value - near) < 1e-9 else value


def plain(name, value):
    """A copy of the value with only plain JSON types, so that no object of the environment outlives the call."""
    try:
        text = encode(value)
        if len(text) <= RESULT_BYTES:
            text.encode("utf-8")
            check_depth(text)
            return decode(text)
    except BaseException as error:
        # An object's own methods (items(), __iter__) may run here and raise anything.
        reason = describe_exception(error, [])[0]
        raise bad_return(f"{name} returned something that is not JSON ({reason})") from None
    raise bad_return(f"{name} returned {len(text)} characters of JSON; the cap is {RESULT_BYTES}")


def checked_observation(name, answer):
    """(observation, done) from the result of ``step`` or ``say``."""
    answer = plain(name, answer)
    if not isinstance(answer, dict):
        raise bad_return(f"{name} did not return a dict")
    observation, done = answer.get("observation"), answer.get("done")
    if not isinstance(observation, str) or not isinstance(done, bool):
        raise bad_return(f'{name} did not return {{"observation": str, "done": bool}}')
    if len(observation) > OBSERVATION_CHARS:
        raise bad_return(f"{name} returned {len(observation)} characters; the cap is {OBSERVATION_CHARS}")
    return observation, done


def required(module):
    """The module; raises BadRequest if none is loaded."""
    if module is None:
        raise bad_request("no environment is loaded; send load first")
    return module
