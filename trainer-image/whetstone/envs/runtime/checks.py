"""The rules for requests and for the environment's values."""

from .faults import bad_request, bad_return
from .limits import MAX_CALLS, MAX_NAME_CHARS, MAX_SEED, MAX_TOOLS

_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_")
_NAME_CHARACTERS = _LETTERS | frozenset("0123456789-")


def check_seed(seed):
    """Raises BadRequest unless seed is an integer of at most 53 bits."""
    if type(seed) is not int or abs(seed) > MAX_SEED:
        raise bad_request("seed is not an integer of at most 53 bits")


def is_function_name(name):
    """Whether a value has at most 64 letters, digits, _ and -, and begins with a letter or _.

    It does not use ``re``, because its import would slow every start.
    """
    return isinstance(name, str) and 0 < len(name) <= 64 and name[0] in _LETTERS and _NAME_CHARACTERS.issuperset(name)


def is_message(message):
    """Whether a value is an opening message."""
    return (
        isinstance(message, dict)
        and message.get("role") in ("system", "user")
        and isinstance(message.get("content"), str)
        and len(message) == 2
    )


def check_calls(name, calls):
    """Raises BadRequest unless calls is a list of {name: str, arguments: dict}."""
    if not isinstance(calls, list) or len(calls) > MAX_CALLS:
        raise bad_request(f"{name}: calls is not a list of at most {MAX_CALLS}")
    for call in calls:
        name_of, arguments = (call.get("name"), call.get("arguments")) if isinstance(call, dict) else (None, None)
        if not isinstance(name_of, str) or len(name_of) > MAX_NAME_CHARS or not isinstance(arguments, dict):
            raise bad_request(f"{name}: a call is not {{name: str, arguments: object}}")


def check_moves(name, moves):
    """Raises BadRequest unless moves is a list of calls and of {text: str}."""
    texts = [move for move in moves if isinstance(move, dict) and "text" in move] if isinstance(moves, list) else []
    if any(len(move) != 1 or not isinstance(move["text"], str) for move in texts):
        raise bad_request(f"{name}: a text turn is not {{text: str}}")
    check_calls(name, [move for move in moves if move not in texts] if isinstance(moves, list) else moves)
    if len(moves) > MAX_CALLS:
        raise bad_request(f"{name}: calls is not a list of at most {MAX_CALLS}")


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
        if not is_function_name(name):
            raise bad_return(f"tools: {str(name)[:60]!r} is not a function name (letters, digits, _ and -, at most 64)")
        if not isinstance(function.get("description", ""), str) or not isinstance(function.get("parameters", {}), dict):
            raise bad_return(f"tools: {name} needs a string `description` and an object `parameters`")
        if name in names:
            raise bad_return(f"tools: {name} is there twice")
        names.add(name)
