"""Errors that become responses, and safe reading of exceptions from the environment."""

from .limits import MESSAGE_CHARS, TRACEBACK_FRAMES

ENVIRONMENT_FILE = "environment.py"


class RuntimeFault(Exception):
    """An error that becomes the response. ``kind`` is one of the protocol's error types."""

    def __init__(self, kind, message, traceback=None):
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.traceback = traceback

    def to_json(self):
        """The protocol's error object."""
        return {"type": self.kind, "message": sendable(self.message), "traceback": self.traceback}


def sendable(text):
    """The text, cut to the protocol's size, without lone surrogates."""
    return text[:MESSAGE_CHARS].encode("utf-8", "replace").decode("utf-8")


def bad_request(message):
    """A request that the protocol does not allow."""
    return RuntimeFault("BadRequest", message)


def bad_return(message):
    """A value of the environment that the protocol does not allow."""
    return RuntimeFault("BadReturn", message)


_traceback_of = BaseException.__dict__["__traceback__"].__get__


def describe_exception(error, source_lines):
    """(message, short traceback or None) of an exception of the environment, with the line numbers of its source.

    ``source_lines`` is None for a source that is no environment, because somebody may have named any file of the
    machine. Then the answer contains neither its lines nor the exception's text, since either would disclose that file.
    For the same reason the line of a syntax error is not shown.

    The exception is the environment's object: its ``__str__`` may raise or return a hostile subclass of str. So the
    base classes' own methods read it, and any failure gives a fixed text.
    """
    try:
        name = str.__getitem__(type.__dict__["__name__"].__get__(type(error)), slice(0, 100))
        text = str.__getitem__(str(error), slice(0, MESSAGE_CHARS))
    except BaseException:
        name, text = "Exception", "(its text could not be read)"
    frames = []
    step = _traceback_of(error)
    while step is not None:
        code = step.tb_frame.f_code
        if code.co_filename == ENVIRONMENT_FILE:
            frames.append((step.tb_lineno, code.co_name))
            del frames[:-TRACEBACK_FRAMES]
        step = step.tb_next
    if source_lines is None and frames:
        text = "its text is not shown, because the source has no `class Environment`"
    elif type(error) is ModuleNotFoundError:
        text += " (an environment is one file and has Python's standard library, no other packages)"
    elif type(error) is FileNotFoundError:
        text += " (the agent's own environment opens files of its folder by their names, a generated one opens none)"
    lines = []
    for number, function in frames:
        place = f"{ENVIRONMENT_FILE}:{number} in {function if source_lines is not None else '?'}"
        is_shown = source_lines is not None and 0 < (number or 0) <= len(source_lines)
        lines.append(f"{place}: {source_lines[number - 1].strip()[:160]}" if is_shown else place)
    if type(error) in (SyntaxError, IndentationError, TabError):
        file, number = error.filename, error.lineno
        if type(file) is str and type(number) is int and file == ENVIRONMENT_FILE:
            lines.append(f"{file}:{number} in <module>")
    return f"{name}: {text}", sendable("\n".join(lines)) or None
