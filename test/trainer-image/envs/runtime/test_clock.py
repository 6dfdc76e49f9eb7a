"""Tier: integration. What an environment does with dates, in a process of its own whose clock is ahead."""

from __future__ import annotations

import subprocess
import sys

import pytest
from fixtures.trainer import ENVIRONMENT

AHEAD = """
import time
before = time.time()
from whetstone.envs.runtime.clock import set_clock_ahead
set_clock_ahead(1000 * 86400)
import copy, pickle, sqlite3
from datetime import date, datetime, timezone

class Birthday(date):
    pass

VALUES = [
    date(2024, 2, 29),
    datetime(2024, 2, 29, 12, 30, 1, 5),
    datetime(2024, 2, 29, tzinfo=timezone.utc),
    datetime(2024, 10, 27, 2, 30, fold=1),
    Birthday(2024, 2, 29),
    date.today(),
    datetime.now(),
]
"""
PLAIN = """
import pickle, sys
print(pickle.load(sys.stdin.buffer))
"""


def run(code: str, given: bytes = b"") -> bytes:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], input=given, capture_output=True, env=ENVIRONMENT, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@pytest.mark.parametrize(
    "code",
    [
        "assert datetime.now().timestamp() - before > 999 * 86400 < time.time() - before",
        """
for value in VALUES:
    for made in (copy.copy(value), copy.deepcopy([value])[0]):
        assert (type(made), made) == (type(value), value) and getattr(made, "fold", 0) == getattr(value, "fold", 0)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        for dumps in (pickle.dumps, pickle._dumps):
            made = pickle.loads(dumps(value, protocol))
            assert (type(made), made) == (type(value), value)
            assert getattr(made, "fold", 0) == getattr(value, "fold", 0)
""",
        """
table = sqlite3.connect(":memory:", detect_types=sqlite3.PARSE_DECLTYPES)
table.execute("create table t (day date, moment timestamp)")
given = VALUES[0], VALUES[1]
table.execute("insert into t values (?, ?)", given)
assert table.execute("select * from t where day <= ?", (date.today(),)).fetchall() == [given]
""",
        """
sqlite3.register_adapter(date, lambda value: f"a day of {value.year}")
assert sqlite3.connect(":memory:").execute("select ?", (VALUES[0],)).fetchone() == ("a day of 2024",)
""",
    ],
    ids=["the clock is ahead", "copies", "a database", "an adapter of its own"],
)
def test_dates_are_taken_as_with_the_right_clock(code: str) -> None:
    run(AHEAD + code)


def test_a_process_with_the_right_clock_reads_its_pickles() -> None:
    written = run(AHEAD + "import sys; sys.stdout.buffer.write(pickle.dumps(VALUES[:4]))")
    assert run(PLAIN, written) == run(
        "from datetime import date, datetime, timezone; import datetime as d\n"
        "print([date(2024, 2, 29), datetime(2024, 2, 29, 12, 30, 1, 5), datetime(2024, 2, 29, tzinfo=timezone.utc),"
        " datetime(2024, 10, 27, 2, 30, fold=1)])"
    )
