"""The lock of a host: one controller holds it for a whole run.

A controller is a netlab process; it runs an agent (netprobe) on each host, which takes the lock.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from netlab import clock
from netlab.errors import HostError, HostGone, LockedError, ProbeError
from netlab.remote.agent import Agent

ASK_AGAIN_S = 0.2


@dataclass(frozen=True, slots=True)
class LockOwner:
    """The holder of a host's lock: a run, and the session (netlab process) that measures for it."""

    run: str
    """Id of the run."""
    session: str
    """Random id of the session: no other process has it."""
    folder: str

    def __str__(self) -> str:
        # A probe reports only about 175 bytes of this text, so the ids come first.
        return f"run {self.run}, session {self.session}, in {self.folder}"

    def is_this_session(self, holder: str) -> bool:
        """Whether an agent of this process holds the lock."""
        return holder.startswith(f"run {self.run}, session {self.session}, ")

    def is_this_run(self, holder: str) -> bool:
        """Whether an agent of this run holds the lock, from this or an earlier session."""
        return bool(self.run) and holder.startswith(f"run {self.run}, ")


Patience = Callable[[Agent, str], float]
"""(agent, holder of its host's lock) → how long to wait for the holder, s."""


def same_host(agent: Agent, peer: Agent) -> bool:
    """Whether two agents run on one machine and in one network namespace.

    Hosts with the same ``machine:`` in the inventory are one machine, whatever they report.
    """
    is_one_machine = agent.host.machine is not None and agent.host.machine == peer.host.machine
    return is_one_machine or agent.identity == peer.identity


def lock_host(
    agent: Agent, owner: LockOwner, *, give_up_s: float, patience: Patience | None = None
) -> None:
    """Lock an agent's host for this controller until the agent ends.

    If another controller holds the lock, wait until ``give_up_s``, a time of the monotonic clock;
    then raise LockedError with the holder. ``patience`` is called after each refusal and may extend
    the wait; its seconds count from the beginning of the wait. Raises HostGone if the host is lost
    meanwhile, HostError if it cannot be locked.

    To lock several hosts, take them in the order of ``Agent.identity``, so that two controllers
    never wait for each other. Two agents with one identity share one lock.
    """
    began_s = clock.monotonic()
    while (holder := _refused_by(agent, owner)) is not None:
        enough_s = patience(agent, holder) if patience else 0.0
        if clock.monotonic() >= max(give_up_s, began_s + enough_s):
            raise LockedError(
                f"{agent.host.name} is measured by {holder or 'another run'}; "
                "wait for that run with --wait TIME"
            )
        clock.sleep(ASK_AGAIN_S)


def _refused_by(agent: Agent, owner: LockOwner) -> str | None:
    """Try to take the lock. Returns ``None`` on success, else the holder ("" if not reported)."""
    try:
        agent.ask("lock", owner=str(owner))
    except HostGone:
        raise
    except ProbeError as error:
        if error.word != "locked":
            raise HostError(f"{agent.host.name}: cannot be locked: {error}") from None
        return error.detail
    return None
