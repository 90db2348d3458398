"""The holder of a host's lock, how a run recognises its own, and how long it waits."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest
from advanced_clock import passing_clock

from netlab import clock
from netlab.errors import HostError, HostGone, LockedError, ProbeError
from netlab.remote.agent import Agent
from netlab.remote.programs import LockOwner, lock_host

__all__ = ["passing_clock"]

pytestmark = [pytest.mark.agents, pytest.mark.usefixtures("passing_clock")]

OURS = LockOwner("1a2b", "c3d4", "runs/night, 2")


@dataclass
class Locked:
    """An agent on a host that is held for a while."""

    name: str
    held_for_s: float
    holder: str = "Ada"
    word: str = "locked"
    asked: list[str] = field(default_factory=list)
    began_s: float = field(default_factory=clock.monotonic)

    @property
    def host(self) -> Any:
        return SimpleNamespace(name=self.name)

    @property
    def identity(self) -> tuple[str, str]:
        return self.name, ""

    def ask(self, verb: str, **keys: Any) -> dict[str, str]:
        self.asked.append(f"{verb} {keys['owner']}")
        if clock.monotonic() - self.began_s < self.held_for_s:
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
def test_the_holder_of_a_lock_is_recognised_by_run_and_session(
    holder: str, session: bool, run: bool
) -> None:
    assert (OURS.is_this_session(holder), OURS.is_this_run(holder)) == (session, run)


def test_a_lock_owner_is_recognised_by_the_first_250_characters_of_its_name() -> None:
    long = LockOwner("0123456789abcdef", "01234567", "f" * 4000)
    assert long.is_this_session(str(long)[:250])


def test_a_run_without_an_id_is_not_recognised_as_the_holder_of_a_lock() -> None:
    assert not LockOwner("", "c3d4", "out").is_this_run(str(LockOwner("", "eeee", "out")))


def test_a_run_with_patience_waits_until_the_lock_of_a_host_is_free() -> None:
    busy_agent = agent("left", 3.0)
    holders: list[str] = []

    def patience(_agent: Agent, holder: str) -> float:
        holders.append(holder)
        return 5.0

    began_s = clock.monotonic()
    lock_host(busy_agent, OURS, give_up_s=0.0, patience=patience)
    assert 3.0 <= clock.monotonic() - began_s < 3.3
    assert set(holders) == {"Ada"}
    assert set(cast(Locked, busy_agent).asked) == {f"lock {OURS}"}


def test_without_patience_a_locked_host_is_refused_and_the_error_states_who_measures_it() -> None:
    with pytest.raises(LockedError, match=r"^left is measured by Ada; wait"):
        lock_host(agent("left", 60), OURS, give_up_s=0.0, patience=lambda *_: 0.0)
    with pytest.raises(LockedError, match=r"^left is measured by another run; wait"):
        lock_host(agent("left", 60, holder=""), OURS, give_up_s=0.0)


def test_a_host_lost_while_a_lock_is_requested_is_not_reported_as_locked() -> None:
    give_up_s = clock.monotonic() + 5
    with pytest.raises(HostGone):
        lock_host(agent("left", 60, word="gone"), OURS, give_up_s=give_up_s)
    with pytest.raises(HostError, match="left: cannot be locked: left: permission-denied"):
        lock_host(agent("left", 60, word="permission-denied"), OURS, give_up_s=give_up_s)
