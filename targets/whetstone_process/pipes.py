"""The process: its two pipes, and the beats that show that it lives."""

import os
import sys
import threading

from .checks import LINE_BYTES
from .service import Service

REQUEST_FD = 3
RESPONSE_FD = 4
BEAT_SECONDS = 5


def serve(make_environment):
    """Answers requests until the request pipe closes, and ends the process. ``make_environment``: an Environment's
    class or a function that makes one.
    """
    try:
        for descriptor in (REQUEST_FD, RESPONSE_FD):
            # Programs that the author's code starts must not hold them open.
            os.set_inheritable(descriptor, False)
    except OSError:
        sys.exit("Whetstone starts this process and talks with it over descriptors 3 and 4. See: whet env tasks --help")
    lock = threading.Lock()

    def write(line):
        view = memoryview(line)
        with lock:
            while view:
                view = view[os.write(RESPONSE_FD, view) :]

    code = 70
    try:
        service = Service(make_environment(), write)
        threading.Thread(target=_beat, args=(service, write), daemon=True).start()
        code = _read_requests(service)
        service.close()
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        # Threads of the author's code may never return.
        os._exit(code)


def _beat(service, write):
    pause = threading.Event()
    while not pause.wait(BEAT_SECONDS):
        line = service.beat()
        if line is not None:
            write(line)


def _read_requests(service):
    pending = bytearray()
    while True:
        chunk = os.read(REQUEST_FD, 1 << 18)
        if not chunk:
            return 0
        pending += chunk
        *lines, rest = bytes(pending).split(b"\n")
        pending = bytearray(rest)
        if any(len(line) > LINE_BYTES for line in (*lines, rest)):
            return 64
        for line in lines:
            service.handle(line)
