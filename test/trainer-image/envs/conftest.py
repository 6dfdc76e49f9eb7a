"""Fixtures of the tests that open an environment."""

from __future__ import annotations

import pytest
from fixtures.counter_environment import COUNTER


@pytest.fixture(params=["process", "jail"])
def isolation(request):
    """Both ways of holding an environment."""
    return request.param


@pytest.fixture
def module(tmp_path):
    """Writes an environment module and returns its path."""

    def write(source=COUNTER):
        path = tmp_path / "environment.py"
        path.write_text(source)
        return path

    return write
