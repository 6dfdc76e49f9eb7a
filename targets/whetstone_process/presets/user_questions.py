"""Questions to the model that plays a user: asked again when they fail, as long as the step has time."""

import time
from contextlib import nullcontext

from whetstone_process import TaskFailed

PAUSES = (2, 8)
"""Seconds before a user simulator that failed is asked again."""
TRY_SECONDS = 60
"""Most that one answer of the user simulator may take."""
SPARE_SECONDS = 5
"""What a step keeps of its deadline, to say that the simulator failed before the deadline says less."""
NO_KEY = "none"
"""What a server gets that needs no key."""


class UserQuestions:
    """Those of one episode.

    Args:
        step_seconds: deadline of the opening and of each step.
        key: what no message may show.
    """

    def __init__(self, step_seconds, key):
        self._step_seconds, self._key = step_seconds, key
        self.begin_step()

    def begin_step(self):
        """From now on the deadline of a step runs."""
        self._ends = time.monotonic() + max(1.0, self._step_seconds - SPARE_SECONDS)

    def seconds(self):
        """What one answer may take in this step."""
        return max(1.0, min(TRY_SECONDS, self._ends - time.monotonic()))

    def ask(self, answer, waiting=nullcontext):
        """What `answer()` returns, which is called up to three times.

        Args:
            waiting: makes the context of a pause.

        Raises:
            TaskFailed: `simulator`, with the last error's words.
        """
        for pause in (*PAUSES, None):
            try:
                return answer()
            except TaskFailed:
                raise
            except Exception as error:
                if pause is None or time.monotonic() + pause >= self._ends:
                    raise TaskFailed("simulator", self._said(error)) from None
            with waiting():
                time.sleep(pause)

    def _said(self, error):
        problem = f"{type(error).__name__}: {error}"
        return (problem if self._key == NO_KEY else problem.replace(self._key, "***"))[:1000]
