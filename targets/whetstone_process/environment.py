"""What an author of a process writes."""

import sys
from importlib import metadata


class TaskFailed(Exception):
    """The episode failed, and the agent is not to blame: a simulated user or a judge did not answer, for example.

    The episode is over. It is played again, and never scores 0. ``cause`` is a short word such as `simulator` or
    `judge`; failures are counted by it.
    """

    def __init__(self, cause, message=""):
        super().__init__(message or cause)
        self.cause = cause


class Episode:
    """A task that is being played. All its methods but `close` run in the thread of the episode, one at a time."""

    messages = ()
    """The opening: dicts of `role` (system, user, assistant) and `content`. The last role is not assistant."""
    tags = ()
    """Kinds of the task, for reports only."""
    done = False
    """Set it to True when the conversation is over."""
    tools = None
    """Its tools, where they are not those of the environment."""
    known_tools = frozenset()
    """Names of its tools. Set after `open`."""
    usage = None
    """Tokens that simulated user and judge have spent so far: {"promptTokens": int, "completionTokens": int}.

    Keep it up to date: an episode that fails or is dropped has spent them too. None: the episode does not know.
    """

    def calls(self, calls, text):
        """Runs the calls of one turn, dicts of `name` and `arguments`, and returns an observation for each.

        ``text`` is what the agent wrote beside them, or None. Stops after the call that ends the episode.
        """
        observations = []
        for call in calls:
            name = call["name"]
            is_known = name in self.known_tools
            observations.append(
                self.call(name, call["arguments"]) if is_known else f"Error: there is no tool named {name}."
            )
            if self.done:
                break
        return observations

    def call(self, name, arguments):
        """Runs one call of a tool and returns what the agent reads. The model chose the arguments: any may be wrong.

        An exception fails the episode, which then does not count. So answer what the agent did wrong with a text.
        """
        raise NotImplementedError("an Episode needs a method `call`, or `calls`")

    def say(self, text):
        """The user's answer to a turn without calls. Without this method such a turn ends the episode."""
        self.done = True
        return ""

    def evaluate(self):
        """The reward, a number in [0, 1], or a dict of `reward` and any of these.

        - `parts`: {name: number}, what the reward consists of;
        - `diagnostics`: {capability: "lacking" or "present"}, if the environment knows.
        """
        raise NotImplementedError("an Episode needs a method `evaluate`")

    def close(self):
        """Called once when the episode is over, however it ended. Other methods may still run, in their thread."""


class Environment:
    """The tasks. One object serves a process; its methods may run in several threads at once."""

    name = "process"
    tools = ()
    """OpenAI function tools: {"type": "function", "function": {"name", "description", "parameters"}}. Where episodes
    have tools of their own: all of them."""
    packages = None
    """Names of the installed packages that decide an episode; None: all of this virtual environment."""
    deterministic = False
    """Whether the same seed and moves give the same texts and reward."""
    has_say = True
    """Whether its episodes answer turns without calls."""
    has_references = None
    """Whether `reference` knows moves that earn reward 1; None: whether there is such a method."""
    has_diagnostics = False
    costs_tokens = False
    """Whether an episode asks a model: a simulated user or a judge."""

    def tasks(self):
        """The named tasks, dicts of `id`, `split` and perhaps `group`; None: every seed is a task."""
        return None

    def open(self, task, seed):
        """Begins an Episode. ``task`` is the id of a named task, else None."""
        raise NotImplementedError("an Environment needs a method `open`")

    def task(self, task, seed):
        """The hidden task as a dict."""
        return {"id": task, "seed": seed}

    def reference(self, task, seed):
        """Moves that earn reward 1, calls and {"text": str}; None if the task has none."""
        return None

    def hello(self):
        """Name, packages and facts, in the form of the protocol."""
        overridden = type(self).reference is not Environment.reference
        return {
            "name": self.name,
            "packages": self._packages(),
            "facts": {
                "deterministic": self.deterministic,
                "hasReferences": overridden if self.has_references is None else self.has_references,
                "hasDiagnostics": self.has_diagnostics,
                "costsTokens": self.costs_tokens,
            },
        }

    def describe(self):
        """The tools and the optional methods, in the form of the protocol."""
        return {"tools": list(self.tools), "hasSay": self.has_say, "hasHints": False}

    def _packages(self):
        names = self.packages
        if names is None:
            names = {found.metadata["Name"] for found in metadata.distributions()} - {None}
        python = f"python=={sys.version_info.major}.{sys.version_info.minor}"
        return " ".join([python, *(f"{name}=={metadata.version(name)}" for name in sorted(names, key=str.lower))])
