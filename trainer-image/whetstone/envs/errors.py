"""The only error class of the sandbox in Python; it has the types of ``sandbox/errors.ts``."""

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
    """An environment or its jail failed.

    type: stable, dotted (``Sandbox.EnvironmentHung``). traceback: lines of the environment's source, or None.
    """

    def __init__(self, type, message, traceback=None):
        super().__init__(message)
        self.type = type
        self.message = message
        self.traceback = traceback

    @property
    def retryable(self):
        """Whether a new process may succeed."""
        return self.type in RETRYABLE
