"""Evaluates expressions that are put together of constants, without running the source. Precedes inspect_source.py."""

import ast
import re

# Methods and functions whose result is known if their arguments are.
TEXT_METHODS = set(
    "capitalize casefold format join lower lstrip removeprefix removesuffix replace rstrip strip swapcase title "
    "translate upper".split()
)
TEXT_FUNCTIONS = {"chr": chr, "str": str, "reversed": lambda text: "".join(reversed(text)), "sorted": sorted}
MAX_FOLDED = 2000
MAX_FOLDED_DEPTH = 40


def folded(node, constants, depth=0):
    """The value of an expression that is put together of constants, or None: a text, a number, or a list of them.

    `constants` has the values of names.
    """
    if depth > MAX_FOLDED_DEPTH:
        return None

    def fold(part):
        return folded(part, constants, depth + 1)

    try:
        value = fold_parts(node, constants, fold)
    except Exception:
        return None
    fits = isinstance(value, int) or (isinstance(value, (str, list)) and len(value) <= MAX_FOLDED)
    return value if fits else None


def fold_parts(node, constants, fold):
    """The value of an expression whose parts `fold` evaluates, or None. It raises what its operation raises."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, (str, int)) else None
    if isinstance(node, ast.Name):
        return constants.get(node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -fold(node.operand)
    if isinstance(node, (ast.List, ast.Tuple)):
        parts = [fold(part) for part in node.elts]
        return None if None in parts else parts
    if isinstance(node, ast.JoinedStr):
        parts = [fold(part.value if isinstance(part, ast.FormattedValue) else part) for part in node.values]
        return "".join(map(str, parts)) if None not in parts else None
    if isinstance(node, ast.BinOp):
        return fold_operation(node.op, fold(node.left), fold(node.right))
    if isinstance(node, ast.Subscript):
        if not isinstance(node.slice, ast.Slice):
            return fold(node.value)[fold(node.slice)]
        bounds = (node.slice.lower, node.slice.upper, node.slice.step)
        return fold(node.value)[slice(*(None if bound is None else fold(bound) for bound in bounds))]
    if isinstance(node, ast.Call) and not node.keywords:
        return fold_call(node, [fold(argument) for argument in node.args], fold)
    return None


def fold_call(node, given, fold):
    """The result of a function or method of texts, or None."""
    if None in given:
        return None
    if isinstance(node.func, ast.Name):
        return TEXT_FUNCTIONS[node.func.id](*given)
    owner = fold(node.func.value)
    # A format with a large width would fill the memory.
    if isinstance(owner, str) and node.func.attr in TEXT_METHODS and not re.search(r"\d{4}", owner):
        return getattr(owner, node.func.attr)(*given)
    return None


def fold_operation(operator, left, right):
    """The sum, product or formatting of known values, or None."""
    if left is None or right is None:
        return None
    if isinstance(operator, ast.Add):
        return left + right
    if isinstance(operator, ast.Mod) and isinstance(left, str) and not re.search(r"\d{4}|\*", left):
        return left % (tuple(right) if isinstance(right, list) else right)
    if isinstance(operator, ast.Mult) and isinstance(right, int) and isinstance(left, str):
        return left * right if right * len(left) <= MAX_FOLDED else None
    return None
