"""A fork of the process makes the same text as the process itself, and then ends."""

from __future__ import annotations

import os

import pytest

from netlab import report as room
from netlab.report import forked_text

pytestmark = pytest.mark.lab


def test_a_text_made_in_a_forked_process_describes_the_state_before_the_fork() -> None:
    state = {"half": "\udc80", "who": str(os.getpid())}
    with forked_text(lambda: f"{state} {os.getpid()}", worth_it=True) as result:
        state_text = str(state)
        state["who"] = "changed since"
        answer, _, process_id = result().rpartition(" ")
    assert answer == state_text
    assert process_id != str(os.getpid()) or not room._CAN_COPY


@pytest.mark.parametrize("can_copy", [False, True])
def test_the_text_is_made_without_a_fork_if_forking_is_impossible_or_not_worthwhile(
    monkeypatch: pytest.MonkeyPatch, can_copy: bool
) -> None:
    monkeypatch.setattr(room, "_CAN_COPY", can_copy)
    with forked_text(lambda: str(os.getpid()), worth_it=not can_copy) as result:
        assert result() == str(os.getpid())


def test_an_error_in_the_forked_process_is_raised_in_the_parent() -> None:
    with (
        forked_text(lambda: str(1 // 0), worth_it=True) as result,
        pytest.raises(ZeroDivisionError),
    ):
        result()


def test_no_forked_process_remains_after_an_error_in_the_parent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not room._CAN_COPY:
        pytest.skip("no process is copied on this system")
    children, fork = [], os.fork

    def noted() -> int:
        children.append(fork())
        return children[-1]

    monkeypatch.setattr(os, "fork", noted)
    with pytest.raises(KeyError), forked_text(_never, worth_it=True):
        raise KeyError
    with pytest.raises(ProcessLookupError):
        os.kill(children[0], 0)


def _never() -> str:
    read, _write = os.pipe()
    return os.read(read, 1).decode()
