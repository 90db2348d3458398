"""One controller a host: which agents are on one host, and its lock taken for a whole run."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from netlab.errors import HostError, HostGone, LockedError, ProbeError
from netlab.remote.agent import Agent

ASK_AGAIN_S = 0.2


@dataclass(frozen=True, slots=True)
class LockOwner:
    """Who holds a host's lock: the run by its id, and which session of it."""

    run: str
    session: str
    """Random: no other process has it."""
    folder: str

    def __str__(self) -> str:
        # A probe keeps some 250 bytes of it: what it is recognised by comes first.
        return f"run {self.run}, session {self.session}, in {self.folder}"

    def is_this_session(self, holder: str) -> bool:
        """Whether an agent that this very process started holds the lock."""
        return holder.startswith(f"run {self.run}, session {self.session}, ")

    def is_this_run(self, holder: str) -> bool:
        """Whether an agent of this run holds it, of this or of an earlier session."""
        return bool(self.run) and holder.startswith(f"run {self.run}, ")


Patience = Callable[[Agent, str], float]
"""An agent and who holds its host, as the holder says it → how long to wait for that, in s."""


def same_host(one: Agent, other: Agent) -> bool:
    """Whether two agents run on one machine and in one network namespace.

    One ``machine:`` of the inventory is one machine, whatever its systems say.
    """
    named = one.host.machine is not None and one.host.machine == other.host.machine
    return named or one.identity == other.identity


def lock_host(
    agent: Agent, owner: LockOwner, *, give_up_s: float, patience: Patience | None = None
) -> None:
    """Hold an agent's host for this controller until the agent ends; LockedError with the holder.

    Who holds it is waited for until ``give_up_s``, by the monotonic clock; ``patience`` may ask for
    more, counted from this call, and is called whenever the lock was refused. Raises HostGone where
    the host is lost meanwhile, HostError where it has no lock to take.

    Whoever locks several hosts takes them in the order of ``Agent.identity``, so that two
    controllers never wait for each other; two agents with one identity hold one lock.
    """
    began_s = time.monotonic()
    while (holder := _refused_by(agent, owner)) is not None:
        enough_s = patience(agent, holder) if patience else 0.0
        if time.monotonic() >= max(give_up_s, began_s + enough_s):
            raise LockedError(
                f"{agent.host.name} is measured by {holder or 'another run'}; "
                "wait for it with --wait TIME"
            )
        time.sleep(ASK_AGAIN_S)


def _refused_by(agent: Agent, owner: LockOwner) -> str | None:
    """Take the lock; who holds it, as far as he says, ``None`` where we do now."""
    try:
        agent.ask("lock", owner=str(owner))
    except HostGone:
        raise
    except ProbeError as error:
        if error.word != "locked":
            raise HostError(f"{agent.host.name}: cannot be locked: {error}") from None
        return error.detail
    return None
