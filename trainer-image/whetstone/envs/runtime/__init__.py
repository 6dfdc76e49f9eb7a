"""Environment runtime: serves one environment module over a pair of pipes. Standard library only.

The owner's environment runs ``python -I -S runtime/__main__.py``; the jail runs the same modules as one file of byte
code (``bundle.py``) with ``--threads N``. Requests come in on fd 3, responses go out on fd 4, one JSON document a line.
Stdout and stderr are logs. docs/reference/protocols.md, section 2, has the methods.

It guards against an environment that raises anything, prints, replaces ``sys.stdout``, calls ``sys.exit``, or returns
the wrong type, NaN, something huge, something that nests without end. Each is a typed error of that one request.

It does not guard against everything: the environment's code shares this process. It can write to fd 4, patch
``builtins``, walk to these functions through ``gc`` or frames, or end the process, so it can always forge its own
result. Certification of an environment (held-out comparison against the real task) guards against that, the jail guards
everything outside, and the parent's deadline ends what does not return. The codec and the file functions are held in
private references only so that careless patching of ``json`` or ``os`` does not break the framing by accident.

Imports here slow every start, so modules that load much (json, re, collections, enum, hashlib) stay out.
"""

from .limits import LINE_BYTES, LOG_BYTES, MAX_BATCH, MAX_DEPTH
from .service import Service

__all__ = ["LINE_BYTES", "LOG_BYTES", "MAX_BATCH", "MAX_DEPTH", "Service"]
