"""Plays episodes of a synthesised environment and finds the state that its module keeps between them.

It runs in the jail, as an environment, in a separate process, because it runs the source. It answers the call `ask
{"source", "seeds", "texts"}` with `{"kept": [...]}`: the module's names whose values the episodes changed. The contents
of a `functools.lru_cache` do not count, as long as the cache can be emptied.

Without this check, an environment could change its behaviour after thousands of episodes, later than any other check.
"""

import functools
import gc
import itertools
import sys
import types

NAME = "checked"
MAX_DEPTH = 40
CACHE = type(functools.lru_cache(lambda: None))
ATOMS = (str, bytes, int, float, complex, bool, type(None), type(Ellipsis))


class Look:
    """A snapshot of everything that a module's names refer to. Equal values have equal snapshots."""

    def __init__(self):
        self.places = {}

    def at(self, value, depth=0):
        """A value as text; an object that occurred before as its number."""
        if isinstance(value, ATOMS):
            return repr(value)
        if id(value) in self.places:
            return f"#{self.places[id(value)][0]}"
        # This keeps the value alive: otherwise another object could get its id.
        self.places[id(value)] = (len(self.places), value)
        if depth > MAX_DEPTH:
            return "..."
        return f"{type(value).__name__}({self.inside(value, depth + 1)})"

    def inside(self, value, depth):
        def look(part):
            return self.at(part, depth)

        if isinstance(value, dict):
            return ",".join(f"{look(key)}:{look(part)}" for key, part in value.items())
        if isinstance(value, (set, frozenset)):
            return ",".join(sorted(map(repr, value)))
        if isinstance(value, (list, tuple)):
            return ",".join(map(look, value))
        if isinstance(value, types.ModuleType) or (isinstance(value, type) and value.__module__ != NAME):
            return value.__name__
        if isinstance(value, types.FunctionType) and value.__module__ != NAME:
            return value.__name__
        if isinstance(value, itertools.count):
            return repr(value)
        if isinstance(value, types.GeneratorType):
            frame = value.gi_frame
            return "over" if frame is None else f"{frame.f_lasti},{look(dict(frame.f_locals))}"
        return ",".join(map(look, self.parts(value)))

    @staticmethod
    def parts(value):
        """The objects to which a value refers: its attributes, and the state that its type stores in C."""
        try:
            reduced = value.__reduce_ex__(2)[1:] if not isinstance(value, (type, types.FunctionType)) else ()
            reduced = [part if not hasattr(part, "__next__") else list(part) for part in reduced]
        except Exception:
            reduced = []
        held = [part for part in gc.get_referents(value) if not isinstance(part, types.CodeType)]
        if isinstance(value, types.FunctionType):
            held = [value.__defaults__, value.__kwdefaults__, value.__dict__, value.__closure__]
        if isinstance(value, type):
            held = [dict(value.__dict__)]
        return [*reduced, *held]


def looks(module):
    """The snapshots of a module's names, after its caches were emptied."""
    for value in gc.get_objects():
        if type(value) is CACHE and getattr(value, "__module__", None) == NAME:
            value.cache_clear()
    return {name: Look().at(value) for name, value in module.__dict__.items() if not name.startswith("__")}


def attempt(function, *arguments):
    """The value of a function, or None if it raises: other checks judge that."""
    try:
        return function(*arguments)
    except Exception:
        return None


def episode(kind, seed, text):
    """Plays two episodes of a seed's task: its reference solution, and a text alone."""
    task = attempt(kind.generate_task, seed)
    for moves in (attempt(kind.reference_solution, task) or [], [{"text": text}]):
        instance, trajectory = attempt(kind), []
        if instance is None or attempt(instance.reset, seed) is None:
            return
        for move in moves:
            is_text = "text" in move
            say = getattr(instance, "say", None)
            answer = (
                attempt(say, move["text"]) if is_text and say else None if is_text else attempt(instance.step, move)
            )
            observation = answer.get("observation", "") if isinstance(answer, dict) else ""
            entry = {"text": move["text"]} if is_text else {"call": move}
            trajectory.append({**entry, "observation": observation})
        attempt(kind.evaluate, trajectory, attempt(kind.generate_task, seed))


def kept(source, seeds, texts):
    """Names of the module whose values the episodes changed."""
    module = types.ModuleType(NAME)
    sys.modules[NAME] = module
    exec(compile(source, "environment.py", "exec", dont_inherit=True), module.__dict__)
    kind = module.__dict__["Environment"]
    attempt(kind.tools)
    # The first episodes may fill caches and tables that are filled only once.
    episode(kind, seeds[0], texts[0])
    before = looks(module)
    for seed in seeds:
        for text in texts:
            episode(kind, seed, text)
    after = looks(module)
    return sorted(name for name in {*before, *after} if before.get(name) != after.get(name))


def answer(arguments):
    return {"kept": kept(arguments["source"], arguments["seeds"], arguments["texts"])}
