"""Plays episodes of a synthesised environment and finds the state that its module keeps between them.

It runs in the jail, as an environment, in a separate process, because it runs the source. It answers the call `ask
{"source", "seeds", "texts", "modules"}` with `{"kept": [...]}`: the names whose values the episodes changed. These are
the module's own names, what its caches return for the same arguments, and the state of the interpreter and of the
library's modules. New entries of a cache do not count.

Without this check, an environment could change its behaviour after thousands of episodes, later than any other check.
"""

import _abc
import copyreg
import decimal
import functools
import gc
import itertools
import random
import sys
import types
import warnings

NAME = "checked"
MAX_DEPTH = 40
CACHE = type(functools.lru_cache(lambda: None))
ATOMS = (str, bytes, int, float, complex, bool, type(None), type(Ellipsis))


def registered(kind):
    """The classes that were registered with an abstract class, in place of its record, in which `isinstance` also notes
    what it was asked."""
    if "_abc_impl" not in kind.__dict__:
        return {}
    return {"_abc_impl": sorted(str(kept()) for kept in _abc._get_dump(kind)[0])}


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
            # `__reduce_ex__` notes the names of the slots in the class: it has done so before each look.
            copyreg._slotnames(value)
            held = [{**value.__dict__, **registered(value)}]
        return [*reduced, *held]


def caches():
    """The caches of the module's functions."""
    return [value for value in gc.get_objects() if type(value) is CACHE and getattr(value, "__module__", None) == NAME]


def cached(cache):
    """What a cache returns: snapshots of the values by the snapshots of their keys."""
    held = gc.get_referents(cache)
    tables = [part for part in held if type(part) is dict]
    pairs = [pair for table in tables for pair in table.items() if type(pair[1]).__name__ != "_lru_list_elem"]
    # A cache of limited size keeps its values in links. It refers to each key, and then to its value.
    keys = {id(key) for table in tables for key in table}
    place = 0
    while place + 1 < len(held):
        if id(held[place]) in keys:
            pairs.append((held[place], held[place + 1]))
            place += 1
        place += 1
    return {Look().at(key): Look().at(value) for key, value in pairs}


def looks_of_caches():
    """By the name of the function: what its cache returns."""
    return {cache.__qualname__: cached(cache) for cache in caches()}


def looks(module):
    """The snapshots of a module's names, after its caches were emptied."""
    for cache in caches():
        cache.cache_clear()
    return {name: Look().at(value) for name, value in module.__dict__.items() if not name.startswith("__")}


def looks_of_library(modules):
    """The state of the interpreter and of the modules that an environment may import, by name."""
    found = {
        "random.getstate()": repr(random.getstate()),
        "gc": repr((gc.isenabled(), gc.get_threshold(), gc.get_debug(), gc.callbacks, len(gc.garbage))),
        "sys": repr((sys.getrecursionlimit(), sys.getswitchinterval(), sys.gettrace(), sys.getprofile())),
        "sys.path": repr((sys.path, sys.argv, sys.excepthook, sys.displayhook, sys.flags)),
        "warnings.filters": repr(warnings.filters),
        "decimal.getcontext()": repr(decimal.getcontext()),
    }
    for name in [*modules, "builtins", "sys", "gc", "warnings", "time"]:
        module = sys.modules.get(name)
        if module is None:
            continue
        for attribute, value in list(vars(module).items()):
            if (name, attribute) not in CHANGING:
                found[f"{name}.{attribute}"] = shallow(value)
    return found


# What the library and this file themselves change.
CHANGING = {
    ("re", "_cache"),
    ("re", "_cache2"),
    ("builtins", "_"),
    ("sys", "modules"),
    ("sys", "path_importer_cache"),
    ("sys", "last_exc"),
    ("sys", "last_type"),
    ("sys", "last_value"),
    ("sys", "last_traceback"),
    ("sys", "_git"),
}


def shallow(value):
    """A value of the library as text: itself, and the atoms and containers directly in it."""
    if isinstance(value, ATOMS):
        return repr(value)
    inside = []
    if isinstance(value, (list, tuple, set, frozenset, dict)):
        inside.append(len(value))
        inside.extend(repr(part) for part in value if isinstance(part, ATOMS))
    if isinstance(value, types.FunctionType):
        inside.append((repr(value.__defaults__), repr(value.__kwdefaults__)))
    if not isinstance(value, types.ModuleType):
        held = getattr(value, "__dict__", None) or {}
        inside.extend((name, repr(part) if isinstance(part, ATOMS) else id(part)) for name, part in held.items())
    return f"{id(value)} {inside}"


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


def changed(before, after):
    """Names whose values differ."""
    return [name for name in {*before, *after} if before.get(name) != after.get(name)]


def kept(source, seeds, texts, modules):
    """Names whose values the episodes changed."""
    module = types.ModuleType(NAME)
    sys.modules[NAME] = module
    exec(compile(source, "environment.py", "exec", dont_inherit=True), module.__dict__)
    kind = module.__dict__["Environment"]
    attempt(kind.tools)
    # The first episodes may fill caches and tables that are filled only once.
    episode(kind, seeds[0], texts[0])
    # To look at an object's attributes may make its dictionary, which the later looks would notice.
    looks_of_library(modules)
    before = looks(module)
    for seed in seeds:
        episode(kind, seed, texts[0])
    # The same episodes again fill no further cache, and import no further module.
    returned, library = looks_of_caches(), looks_of_library(modules)
    for text in texts:
        # Another order, so that the newest seed is another one than at the looks before.
        for seed in [*seeds[2:], *seeds[:2]]:
            episode(kind, seed, text)
    returned_later, library_later = looks_of_caches(), looks_of_library(modules)
    own = changed(before, looks(module))
    of_caches = [
        f"what {name} returns"
        for name, entries in returned.items()
        if any(returned_later.get(name, {}).get(key, value) != value for key, value in entries.items())
    ]
    return sorted([*own, *of_caches, *changed(library, library_later)])


def answer(arguments):
    return {"kept": kept(arguments["source"], arguments["seeds"], arguments["texts"], arguments["modules"])}
