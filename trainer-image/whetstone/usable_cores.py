"""How many processor cores this process may use at once."""

from __future__ import annotations

import math
import os
from pathlib import Path


def usable_cores(control_groups: Path = Path("/sys/fs/cgroup")) -> int:
    """The number of cores of the affinity mask, or fewer if the control group (v2 or v1) has a quota; at least 1.

    A container's limit is such a quota. Inside the container the mask still shows every core of the node.
    """
    cores = len(os.sched_getaffinity(0))
    quota = _quota(control_groups)
    return max(1, cores if quota is None else min(cores, math.ceil(quota)))


def _quota(root: Path) -> float | None:
    """Processor seconds per second that the control group grants; None if there is no limit."""
    try:
        if (root / "cpu.max").exists():
            share, period = (root / "cpu.max").read_text().split()
        else:
            share, period = ((root / "cpu" / f"cpu.cfs_{name}_us").read_text().strip() for name in ("quota", "period"))
        return int(share) / int(period) if int(share) > 0 else None
    except (OSError, ValueError):
        # Either there is no control group, or the quota is the word "max".
        return None
