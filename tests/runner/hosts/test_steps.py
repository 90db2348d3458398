"""Messages about a step that takes long because there are many hosts."""

from __future__ import annotations

from itertools import count

from netlab.runner.progress import counted


def test_a_long_step_reports_its_progress_every_ten_seconds() -> None:
    said: list[str] = []
    seconds = count(0, 4)
    items = counted(range(10), 10, "connecting: {} hosts", said.append, lambda: next(seconds))
    assert list(items) == list(range(10))
    assert said == [f"connecting: {number} of 10 hosts" for number in (3, 6, 9)]


def test_a_short_step_reports_nothing() -> None:
    said: list[str] = []
    assert list(counted("abc", 3, "connecting: {} hosts", said.append, lambda: 0.0)) == [*"abc"]
    assert said == []
