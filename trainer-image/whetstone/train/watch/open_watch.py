"""Opens the watch of a job."""

from __future__ import annotations

import contextlib

from whetstone.chat.renderer import Renderer
from whetstone.sampling import Sampler

from ..job import TrainingJob
from ..output.notices import Notices
from .agent_tasks import AgentTasks, NotHosted
from .watch import Watch


def open_watch(
    job: TrainingJob, sampler: Sampler, renderer: Renderer, stack: contextlib.ExitStack, notices: Notices
) -> Watch:
    """The watch over a job's training. It watches nothing where the agent's environment cannot be played here.

    Its environment is closed with `stack`. Raises SandboxError for faults outside the environment.
    """
    agent = job.watch
    if agent is None or not job.algorithm.probeEvery:
        return Watch(job.algorithm, None, None, job.unwatched)
    # A failed opening closes what it has opened.
    with contextlib.ExitStack() as opened:
        try:
            tasks = AgentTasks(job, agent, sampler, renderer, opened)
        except NotHosted as error:
            notices.warn("watch", f"training goes on without probes: {error}")
            return Watch(job.algorithm, agent, None, str(error))
        stack.enter_context(opened.pop_all())
    return Watch(job.algorithm, agent, tasks, None, is_mixed=len(job.environments) > 1)
