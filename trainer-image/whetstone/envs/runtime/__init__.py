"""Environment runtime: serves one environment module over a pair of pipes. Standard library only.

The owner's environment runs ``python -I -S runtime/__main__.py``; the jail runs the same modules as one file of byte
code (``bundle.py``) with ``--threads N``. Requests come in on fd 3, responses go out on fd 4, one JSON document a line.
Stdout and stderr are logs. docs/reference/protocols.md, section 2, has the methods.

It handles an environment that raises anything, prints, replaces ``sys.stdout``, calls ``sys.exit``, or returns a wrong
type, NaN, or a value that is huge or endlessly nested. Each is a typed error of that one request.

It cannot protect against everything, because the environment's code shares this process. That code can write to fd 4,
patch ``builtins``, reach these functions through ``gc`` or frames, or end the process. So it can always forge its own
result. Certification of an environment (held-out comparison against the real task) protects against that. The jail
protects everything outside, and the parent's deadline ends a call that does not return. Private references hold the
codec and the file functions, only so that careless patching of ``json`` or ``os`` does not break the framing by
accident.

Imports here slow every start, so modules with many imports (json, re, collections, enum, hashlib) are avoided.
"""

from .limits import LINE_BYTES, LOG_BYTES, MAX_BATCH, MAX_DEPTH
from .service import Service

__all__ = ["LINE_BYTES", "LOG_BYTES", "MAX_BATCH", "MAX_DEPTH", "Service"]
