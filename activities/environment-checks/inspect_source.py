"""Checks the source of a synthesised environment without running it.

It runs in the jail, as an environment, because hostile text can exhaust the parser. No generated text is parsed
outside. It answers the call `ask {"source", "allowed"}` with the JSON of `inspect`.

This check finds careless code, and names that are reached indirectly. Hostile code has many ways to hide an import;
only the jail stops it.
"""

import ast
import importlib
import re
import types

MAX_FINDINGS = 20
MAX_TEXTS = 60

FORBIDDEN_NAMES = {
    "__builtins__",
    "__import__",
    "__loader__",
    "__spec__",
    "breakpoint",
    "compile",
    "eval",
    "exec",
    "globals",
    "input",
    "locals",
    "open",
}
# Their values differ between processes.
PROCESS_NAMES = {"hash", "id"}
INTERNALS = {
    "ag_frame",
    "cr_code",
    "cr_frame",
    "f_back",
    "f_builtins",
    "f_globals",
    "f_locals",
    "gi_code",
    "gi_frame",
    "mro",
    "tb_frame",
    "tb_next",
}
# The double-underscore names that ordinary programs use. All others give access to the interpreter's own objects.
HARMLESS = {
    f"__{name}__"
    for name in (
        "add and annotations bool call class contains copy dataclass_fields deepcopy delitem dict doc enter eq exit "
        "format ge getitem gt init init_subclass iter le len lt members missing name ne new next or post_init qualname "
        "repr reversed set_name setattr setitem slots str sub value"
    ).split()
}
SHARED_GENERATOR = "draw from random.Random(seed), because episodes share the module's own generator."
CLOCKS = {"now", "today", "utcnow"}
# The rest of `types` can build functions and code objects.
HARMLESS_TYPES = {"GenericAlias", "MappingProxyType", "NoneType", "SimpleNamespace", "UnionType"}
# Modules that give access to the clock.
WITH_CLOCKS = {"calendar", "datetime"}
# A field of a format string that accesses an internal: "{0.__class__}".
FORMAT_FIELD = re.compile(r"\{[^{}]*[.\[]\s*(__\w+__|" + "|".join(sorted(INTERNALS)) + r")")
# One of the interpreter's names, or a part of one, with its underscores.
WORD = re.compile(r"__[a-z]+_{0,2}|[a-z]+__")
# They tell how many episodes there were.
CACHE_FACTS = {"cache_info", "cache_parameters"}
PREFIX = 'a text that begins with a letter of its own, such as f"do_{name}"'


class Inspector(ast.NodeVisitor):
    """Collects findings as (line, sentence) while it walks the syntax tree.

    `modules` maps the imported names to objects of the library. `own` has the attributes that the source sets on
    `self`, `classes` the names of its own classes, and `constants` the values of names that are set once.
    """

    def __init__(self, allowed, tree):
        self.allowed = set(allowed)
        self.findings = []
        self.modules = {}
        self.own = set()
        self.classes = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
        self.has_clock = False
        self.constants = {}
        for node in ast.walk(tree):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                self.note_import(node)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and is_self(node.value):
                self.own.add(node.attr)
        self.note_constants(tree)

    def note_constants(self, tree):
        """Records the names that are bound once in the whole source, to a text that is known."""
        bound = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                bound[node.id] = bound.get(node.id, 0) + 1
            elif isinstance(node, ast.arg):
                bound[node.arg] = bound.get(node.arg, 0) + 2
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                text = folded(node.value, self.constants)  # noqa: F821
                if isinstance(text, str) and bound[node.targets[0].id] == 1:
                    self.constants[node.targets[0].id] = text

    def visit(self, node):
        """Judges a text that is put together of constants like the constant that it is."""
        if isinstance(node, (ast.BinOp, ast.JoinedStr, ast.Call, ast.Subscript)):
            text = folded(node, self.constants)  # noqa: F821
            if isinstance(text, str):
                self.check_text(node, text)
                if self.has_clock and text in CLOCKS:
                    self.add(node, f"puts the name {text} together, which an environment must not.")
        return super().visit(node)

    def note_import(self, node):
        """Records which names refer to which objects of the library."""
        for alias in node.names:
            path = alias.name if isinstance(node, ast.Import) else f"{node.module}.{alias.name}"
            bound = alias.asname or (alias.name.split(".")[0] if isinstance(node, ast.Import) else alias.name)
            whole = alias.asname is not None or isinstance(node, ast.ImportFrom)
            found = self.library(path if whole else path.split(".")[0])
            if found is not None:
                self.modules[bound] = found
            self.has_clock = self.has_clock or path.split(".")[0] in WITH_CLOCKS

    def library(self, path):
        """The object of an allowed module at a dotted path, or None."""
        parts = path.split(".")
        if parts[0] not in self.allowed:
            return None
        try:
            found = importlib.import_module(parts[0])
        except Exception:
            return None
        for part in parts[1:]:
            found = getattr(found, part, None)
        return found

    def add(self, node, text):
        self.findings.append((node.lineno, f"Line {node.lineno} {text}"))

    def check_module(self, node, module):
        if module.split(".")[0] not in self.allowed:
            self.add(node, f"imports {module}.")

    def is_forbidden_module(self, found):
        return isinstance(found, types.ModuleType) and found.__name__.split(".")[0] not in self.allowed

    def visit_Import(self, node):  # noqa: N802
        for alias in node.names:
            self.check_module(node, alias.name)

    def visit_ImportFrom(self, node):  # noqa: N802
        if node.level:
            self.add(node, "imports from a package; the environment is one file.")
            return
        self.check_module(node, node.module)
        for alias in node.names:
            if node.module == "random" and alias.name != "Random":
                self.add(node, f"takes {alias.name} from random: {SHARED_GENERATOR}")
            elif node.module == "types" and alias.name not in HARMLESS_TYPES:
                self.add(node, f"takes {alias.name} from types, which an environment must not.")
            elif alias.name == "*":
                self.add(node, f"imports everything from {node.module}; import the names that are used.")
            elif self.is_forbidden_module(self.library(f"{node.module}.{alias.name}")):
                self.add(node, f"imports {alias.name} through {node.module}.")

    def visit_Name(self, node):  # noqa: N802
        if node.id in FORBIDDEN_NAMES:
            self.add(node, f"uses {node.id}, which an environment must not.")
        elif node.id in PROCESS_NAMES and isinstance(node.ctx, ast.Load):
            self.add(
                node, f"uses {node.id}, which differs from process to process; everything must follow from the seed."
            )
        elif isinstance(node.ctx, ast.Load) and isinstance(self.modules.get(node.id), types.ModuleType):
            self.add(node, f"hands the module {node.id} on; write its name where it is used.")
        elif node.id in ("getattr", "vars"):
            self.add(node, f"uses {node.id} in another way than by calling it, which an environment must not.")

    def visit_Attribute(self, node):  # noqa: N802
        found, through_random = self.resolve(node)
        if node.attr in INTERNALS or (is_dunder(node.attr) and node.attr not in HARMLESS):
            self.add(node, f"reaches for {node.attr}, which an environment must not.")
        elif node.attr in CACHE_FACTS:
            self.add(node, f"uses {node.attr}, which tells of other episodes.")
        elif not isinstance(node.ctx, ast.Load) and self.is_of_library(node.value):
            self.add(node, f"changes {node.attr} of the library; keep what an episode needs in the instance.")
        elif through_random:
            self.add(node, f"uses random.{node.attr}: {SHARED_GENERATOR}")
        elif self.is_of_types(node) and node.attr not in HARMLESS_TYPES:
            self.add(node, f"uses types.{node.attr}, which an environment must not.")
        elif self.is_forbidden_module(found):
            self.add(node, f"reaches for the module {found.__name__}, which an environment must not.")
        elif self.is_clock(node):
            owner = node.value
            name = owner.id if isinstance(owner, ast.Name) else owner.attr if isinstance(owner, ast.Attribute) else "it"
            self.add(node, f"reads the clock ({name}.{node.attr}); everything must follow from the seed.")
        # A module's name may be used only in front of a dot.
        if not isinstance(node.value, ast.Name) or node.value.id not in self.modules:
            self.visit(node.value)

    def is_of_library(self, node):
        """Whether an expression is an object of the library: a module, or something in it."""
        if isinstance(node, ast.Attribute):
            return self.resolve(node)[0] is not None
        return isinstance(node, ast.Name) and node.id in self.modules

    def is_of_types(self, node):
        return isinstance(node.value, ast.Name) and self.modules.get(node.value.id) is types

    def is_clock(self, node):
        """Whether an attribute may be the clock: it has one of these names, and the source can have a date."""
        if node.attr not in CLOCKS or not self.has_clock or not isinstance(node.ctx, ast.Load):
            return False
        return not (is_self(node.value) and node.attr in self.own)

    def resolve(self, node):
        """For a dotted path: (object of the library, whether it belongs to random but is not Random)."""
        parts = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        found = self.modules.get(node.id) if isinstance(node, ast.Name) else None
        through_random = False
        for part in reversed(parts):
            of_random = isinstance(found, types.ModuleType) and found.__name__ == "random"
            through_random = of_random and part != "Random"
            found = getattr(found, part, None) if found is not None else None
        return found, through_random

    def visit_Call(self, node):  # noqa: N802
        function = node.func
        name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", None)
        if isinstance(function, ast.Name) and name == "getattr" and len(node.args) > 1:
            # The source's own methods, by the name of a tool: only of self and its own classes.
            owner = node.args[0].id if isinstance(node.args[0], ast.Name) else None
            plain = isinstance(node.args[1], (ast.Name, ast.Attribute, ast.Subscript))
            if not (plain and owner in {"self", "cls", *self.classes}):
                self.check_named(node, node.args[1])
        elif name in ("setattr", "delattr") and node.args and self.is_of_library(node.args[0]):
            self.add(node, "changes the library; keep what an episode needs in the instance.")
        elif name in ("attrgetter", "methodcaller"):
            for argument in node.args if name == "attrgetter" else node.args[:1]:
                self.check_named(node, argument)
            self.visit(function)
        elif isinstance(function, ast.Name) and name == "vars" and node.args:
            pass
        else:
            self.visit(function)
        for argument in [*node.args, *node.keywords]:
            self.visit(argument)

    def check_named(self, node, argument):
        """An attribute named by a text: the text, or its beginning, must be readable in the source."""
        text = folded(argument, self.constants)  # noqa: F821
        if isinstance(text, str):
            for part in text.split("."):
                if part in {*INTERNALS, *CLOCKS, *CACHE_FACTS} or (is_dunder(part) and part not in HARMLESS):
                    self.add(node, f"reaches for {part}, which an environment must not.")
            return
        begin = beginning(argument)
        names = {*INTERNALS, *CLOCKS, *CACHE_FACTS}
        if begin is None or not re.match(r"_?[A-Za-z]", begin) or any(name.startswith(begin) for name in names):
            self.add(node, f"names an attribute by a text that is put together; use {PREFIX}.")

    def visit_Constant(self, node):  # noqa: N802
        if isinstance(node.value, str):
            self.check_text(node, node.value)

    def check_text(self, node, text):
        if found := FORMAT_FIELD.search(text):
            self.add(node, f"reaches for {found[1]} in a format, which an environment must not.")
        elif text in INTERNALS or (WORD.fullmatch(text) and text.strip("_") in self.internal_words()):
            self.add(node, f"names {text}, which an environment must not.")

    @staticmethod
    def internal_words():
        """Words that occur only in the interpreter's own names."""
        return {"bases", "builtins", "closure", "code", "globals", "loader", "mro", "subclasses", "traceback"}


def is_self(node):
    return isinstance(node, ast.Name) and node.id == "self"


def is_dunder(name):
    return name.startswith("__") and name.endswith("__")


def beginning(node):
    """The constant text at the beginning of an expression, or None."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return beginning(node.values[0]) if node.values else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mod)):
        return beginning(node.left)
    return None


def texts_of(tree):
    """The source's own texts that an agent could say: at most MAX_TEXTS, without docstrings."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            text = node.value.strip()
            if 2 <= len(text.split()) and len(text) <= 120 and "\n" not in text:
                found[text] = None
    return list(found)[:MAX_TEXTS]


def inspect(source, allowed):
    """Sentences about the source: "syntax" says why it cannot be parsed, and "rules" lists its violations in the order
    of lines. "texts" has its texts.

    One of the lists `syntax` and `rules` is empty.
    """
    try:
        tree = ast.parse(source, "environment.py")
    except SyntaxError as error:
        return {"syntax": [f"Line {error.lineno} is not Python: {error.msg}."], "rules": [], "texts": []}
    except (ValueError, RecursionError, MemoryError) as error:
        return {"syntax": [f"The source cannot be parsed: {type(error).__name__}."], "rules": [], "texts": []}
    inspector = Inspector(allowed, tree)
    try:
        inspector.visit(tree)
    except RecursionError:
        return {"syntax": ["The source nests too deeply to be read."], "rules": [], "texts": []}
    rules = list(dict.fromkeys(text for _, text in sorted(inspector.findings)))[:MAX_FINDINGS]
    return {"syntax": [], "rules": rules, "texts": texts_of(tree)}


def answer(arguments):
    return inspect(arguments["source"], arguments["allowed"])
