"""Reads the source of a synthesised environment without running it.

It runs in the jail, as an environment: hostile text can exhaust the parser, so no generated text is parsed outside.
The call `inspect {"source", "allowed"}` is answered with the JSON of `inspect`.

This finds careless code. Hostile code has many ways to hide an import; only the jail stops it.
"""

import ast
import json

MAX_FINDINGS = 20

FORBIDDEN_NAMES = {"__import__", "breakpoint", "compile", "eval", "exec", "input", "open"}
INTERNALS = {
    "__bases__",
    "__builtins__",
    "__code__",
    "__globals__",
    "__loader__",
    "__mro__",
    "__subclasses__",
    "cr_frame",
    "f_back",
    "f_globals",
    "gi_frame",
    "tb_frame",
}
SHARED_GENERATOR = "draw from random.Random(seed), because episodes share the module's own generator."
CLOCKS = {("datetime", "now"), ("datetime", "today"), ("datetime", "utcnow"), ("date", "today")}


class Inspector(ast.NodeVisitor):
    """Collects findings as (line, sentence) while it walks the syntax tree."""

    def __init__(self, allowed):
        self.allowed = set(allowed)
        self.findings = []

    def add(self, node, text):
        self.findings.append((node.lineno, f"Line {node.lineno} {text}"))

    def check_module(self, node, module):
        if module.split(".")[0] not in self.allowed:
            self.add(node, f"imports {module}.")

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

    def visit_Name(self, node):  # noqa: N802
        if node.id in FORBIDDEN_NAMES:
            self.add(node, f"uses {node.id}, which an environment must not.")

    def visit_Attribute(self, node):  # noqa: N802
        owner = node.value
        name = owner.id if isinstance(owner, ast.Name) else owner.attr if isinstance(owner, ast.Attribute) else None
        if node.attr in INTERNALS:
            self.add(node, f"reaches for {node.attr}, which an environment must not.")
        elif isinstance(owner, ast.Name) and owner.id == "random" and node.attr != "Random":
            self.add(node, f"uses random.{node.attr}: {SHARED_GENERATOR}")
        elif (name, node.attr) in CLOCKS:
            self.add(node, f"reads the clock ({name}.{node.attr}); everything must follow from the seed.")
        self.generic_visit(node)


def inspect(source, allowed):
    """Sentences about the source: {"syntax": why it cannot be parsed, "rules": what it must not do, in order of lines}.

    One of the two lists is empty.
    """
    try:
        tree = ast.parse(source, "environment.py")
    except SyntaxError as error:
        return {"syntax": [f"Line {error.lineno} is not Python: {error.msg}."], "rules": []}
    except (ValueError, RecursionError, MemoryError) as error:
        return {"syntax": [f"The source cannot be parsed: {type(error).__name__}."], "rules": []}
    inspector = Inspector(allowed)
    try:
        inspector.visit(tree)
    except RecursionError:
        return {"syntax": ["The source nests too deeply to be read."], "rules": []}
    return {"syntax": [], "rules": [text for _, text in sorted(inspector.findings)[:MAX_FINDINGS]]}


class Environment:
    """Wraps `inspect` as an environment with one task and no reward."""

    @staticmethod
    def tools():
        function = {"name": "inspect", "description": "Reads a source.", "parameters": {}}
        return [{"type": "function", "function": function}]

    @staticmethod
    def generate_task(seed):
        return {}

    def reset(self, seed):
        return [{"role": "user", "content": "Inspect the source."}]

    def step(self, call):
        arguments = call["arguments"]
        return {"observation": json.dumps(inspect(arguments["source"], arguments["allowed"])), "done": True}

    @staticmethod
    def evaluate(trajectory, task):
        return 0.0

    @staticmethod
    def reference_solution(task):
        return []
