"""The holder of a host's lock, how a run recognises its own, and how long it waits."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from netlab.errors import HostError, HostGone, LockedError, ProbeError
from netlab.remote.agent import Agent
from netlab.remote.host_lock import LockOwner, lock_host

OURS = LockOwner("1a2b", "c3d4", "runs/night, 2")


@dataclass
class Locked:
    """An agent on a host that is held for a while."""

    name: str
    held_for_s: float
    holder: str = "Ada"
    word: str = "locked"
    asked: list[str] = field(default_factory=list)
    began_s: float = field(default_factory=time.monotonic)

    @property
    def host(self) -> Any:
        return SimpleNamespace(name=self.name)

    @property
    def identity(self) -> tuple[str, str]:
        return self.name, ""

    def ask(self, verb: str, **keys: Any) -> dict[str, str]:
        self.asked.append(f"{verb} {keys['owner']}")
        if time.monotonic() - self.began_s < self.held_for_s:
            if self.word == "gone":
                raise HostGone(f"{self.name}: the connection ended")
            raise ProbeError(self.name, self.word, detail=self.holder)
        return {"type": verb}


def agent(*args: Any, **keys: Any) -> Agent:
    return cast(Agent, Locked(*args, **keys))


@pytest.mark.parametrize(
    ("holder", "session", "run"),
    [
        (str(OURS), True, True),
        (f"{OURS} (user 1000)", True, True),
        (str(LockOwner("1a2b", "eeee", "runs/night")), False, True),
        (str(LockOwner("ffff", "c3d4", "runs/night")), False, False),
        ("runs/night", False, False),
        ("", False, False),
    ],
)
def test_an_agent_is_recognised_by_run_and_session(holder: str, session: bool, run: bool) -> None:
    assert (OURS.is_this_session(holder), OURS.is_this_run(holder)) == (session, run)


def test_what_it_is_recognised_by_fits_into_what_a_probe_keeps() -> None:
    long = LockOwner("0123456789abcdef", "01234567", "f" * 4000)
    assert long.is_this_session(str(long)[:250])


def test_a_run_without_a_name_is_never_another_sessions() -> None:
    assert not LockOwner("", "c3d4", "out").is_this_run(str(LockOwner("", "eeee", "out")))


def test_a_holder_that_deserves_it_is_waited_for() -> None:
    busy_agent = agent("left", 0.3)
    holders: list[str] = []

    def patience(_agent: Agent, holder: str) -> float:
        holders.append(holder)
        return 5.0

    lock_host(busy_agent, OURS, give_up_s=0.0, patience=patience)
    assert set(holders) == {"Ada"}
    assert set(cast(Locked, busy_agent).asked) == {f"lock {OURS}"}


def test_any_other_is_not_and_is_named() -> None:
    with pytest.raises(LockedError, match=r"^left is measured by Ada; wait"):
        lock_host(agent("left", 60), OURS, give_up_s=0.0, patience=lambda *_: 0.0)
    with pytest.raises(LockedError, match=r"^left is measured by another run; wait"):
        lock_host(agent("left", 60, holder=""), OURS, give_up_s=0.0)


def test_a_host_that_is_lost_meanwhile_is_no_locked_one() -> None:
    give_up_s = time.monotonic() + 5
    with pytest.raises(HostGone):
        lock_host(agent("left", 60, word="gone"), OURS, give_up_s=give_up_s)
    with pytest.raises(HostError, match="left: cannot be locked: left: permission-denied"):
        lock_host(agent("left", 60, word="permission-denied"), OURS, give_up_s=give_up_s)
