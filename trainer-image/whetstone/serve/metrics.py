"""The server's metrics for Prometheus."""

from __future__ import annotations

from collections import Counter

from whetstone.engine import Engine, Request


class Metrics:
    """Counts of one server since its start."""

    def __init__(self) -> None:
        self._answers: Counter[int] = Counter()
        self._ended: Counter[str] = Counter()
        self._prompt_tokens = self._completion_tokens = 0

    def answered(self, status: int) -> None:
        """Counts an answer to a request of any route."""
        self._answers[status] += 1

    def ended(self, request: Request) -> None:
        """Counts the tokens of a request that the engine has finished."""
        self._ended[request.finish or "failed"] += 1
        self._prompt_tokens += len(request.prompt)
        self._completion_tokens += len(request.tokens)

    def text(self, engine: Engine, adapters: int, ready: bool) -> str:
        """All metrics in Prometheus' text format."""
        labelled = {
            ("answers_total", "counter", "Answers by status."): {
                f'{{status="{status}"}}': count for status, count in sorted(self._answers.items())
            },
            ("completions_total", "counter", "Completions by how they ended."): {
                f'{{finish="{finish}"}}': count for finish, count in sorted(self._ended.items())
            },
            ("prompt_tokens_total", "counter", "Tokens of prompts."): {"": self._prompt_tokens},
            ("completion_tokens_total", "counter", "Tokens generated."): {"": self._completion_tokens},
            ("running", "gauge", "Completions that are generated now."): {"": engine.running},
            ("waiting", "gauge", "Completions that wait for a place."): {"": engine.waiting},
            ("adapters", "gauge", "Adapters that are loaded."): {"": adapters},
            ("ready", "gauge", "Whether requests should be sent here."): {"": int(ready)},
        }
        lines = []
        for (name, kind, meaning), values in labelled.items():
            lines += [f"# HELP whet_policy_{name} {meaning}", f"# TYPE whet_policy_{name} {kind}"]
            lines += [f"whet_policy_{name}{label} {value}" for label, value in values.items()]
        return "\n".join([*lines, ""])
