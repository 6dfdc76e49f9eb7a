"""The sandbox's one error class on the Python side; it has the types of ``sandbox/errors.ts``."""

RETRYABLE = frozenset(
    {
        "Sandbox.StartFailed",
        "Sandbox.EnvironmentHung",
        "Sandbox.EnvironmentDied",
        "Sandbox.EnvironmentKilled",
        "Sandbox.EnvironmentClosed",
    }
)


class SandboxError(Exception):
    """Something went wrong with an environment or its jail.

    type: stable, dotted (``Sandbox.EnvironmentHung``). traceback: lines of the environment's source, or None.
    """

    def __init__(self, type, message, traceback=None):
        super().__init__(message)
        self.type = type
        self.message = message
        self.traceback = traceback

    @property
    def retryable(self):
        """Whether a fresh process may succeed where this one failed."""
        return self.type in RETRYABLE
