"""Recognises a full disk, whichever library writes."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
PROBE_BYTES = 1 << 16


class DiskFull(OSError):
    """There is no room for a file of the output directory."""


@contextlib.contextmanager
def disk_full_named(root: Path, what: str) -> Iterator[None]:
    """Raises DiskFull instead of any error inside that a full disk causes; `what` names the written file.

    torch and safetensors raise their own errors, so after any error a file is written to test the disk.
    """
    try:
        yield
    except DiskFull:
        raise
    except Exception as error:
        if (isinstance(error, OSError) and error.errno in FULL) or _is_full(root):
            raise DiskFull(errno.ENOSPC, f"the disk of {root} is full, so {what} could not be written") from error
        raise


def _is_full(root: Path) -> bool:
    probe = root / ".probe"
    try:
        with probe.open("wb") as file:
            file.write(b"\0" * PROBE_BYTES)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return error.errno in FULL
    finally:
        with contextlib.suppress(OSError):
            probe.unlink()
    return False
