"""The process: descriptors, limits, and the loop over request lines."""

import os
import resource
import sys

from .limits import LINE_BYTES, REQUEST_FD, RESPONSE_FD
from .logs import BoundedLog
from .service import Service

_read, _write, _exit = os.read, os.write, os._exit


def write_all(data):
    """Writes every byte to the response pipe."""
    view = memoryview(data)
    while view:
        view = view[_write(RESPONSE_FD, view) :]


def serve(service):
    """Answers lines until the request pipe closes.

    A line over the limit ends the process, because the framing is lost.
    """
    respond = service.respond
    pending = bytearray()
    while True:
        chunk = _read(REQUEST_FD, 1 << 18)
        if not chunk:
            return 0
        pending += chunk
        if b"\n" not in chunk:
            if len(pending) > LINE_BYTES:
                return 64
            continue
        *lines, rest = bytes(pending).split(b"\n")
        pending = bytearray(rest)
        for line in lines:
            if len(line) > LINE_BYTES:
                return 64
            write_all(respond(line))


def main(arguments):
    """Limits the number of threads, closes foreign files, redirects the logs to limited writers, and serves.

    arguments: ``--threads N`` sets the limit.
    """
    if "--threads" in arguments:
        # It is set here, inside the user namespace, because outside it would count every process of the same user.
        limit = int(arguments[arguments.index("--threads") + 1])
        resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit))
    # Descriptors that the launcher inherited without close-on-exec must not reach the environment.
    os.closerange(RESPONSE_FD + 1, 1 << 20)
    sys.stdout, sys.stderr = BoundedLog(1), BoundedLog(2)
    sys.__stdout__, sys.__stderr__ = sys.stdout, sys.stderr
    code = 70
    try:
        code = serve(Service())
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        # At a normal exit the interpreter would run the environment's atexit functions and __del__ methods.
        _exit(code)
