"""One controller a host: which agents are on one host, and its lock taken for a whole run."""

from __future__ import annotations

import time
from collections.abc import Iterable

from netlab.errors import HostError, LockedError, ProbeError
from netlab.remote.agent import Agent


def same_host(one: Agent, other: Agent) -> bool:
    """Whether two agents run on one machine and in one network namespace.

    One ``machine:`` of the inventory is one machine, whatever its systems say.
    """
    named = one.host.machine is not None and one.host.machine == other.host.machine
    return named or one.identity == other.identity


def lock_hosts(agents: Iterable[Agent], owner: str, *, wait_s: float = 0.0) -> list[Agent]:
    """Hold every host for this controller until its agent ends; LockedError with the holder.

    Returns the agents that hold the locks.

    In sorted order, so that two controllers never wait for each other; two agents on one machine
    and network namespace hold one lock.
    """
    by_identity: dict[tuple[str, str], Agent] = {}
    for agent in agents:
        by_identity.setdefault(agent.identity, agent)
    give_up = time.monotonic() + wait_s
    for _, agent in sorted(by_identity.items()):
        while True:
            try:
                agent.ask("lock", owner=owner)
                break
            except ProbeError as error:
                if error.word != "locked":
                    raise HostError(f"{agent.host.name}: cannot be locked: {error}") from None
                if time.monotonic() >= give_up:
                    raise LockedError(
                        f"{agent.host.name} is measured by {error.detail or 'another run'}; "
                        "wait for it with --wait SECONDS"
                    ) from None
                time.sleep(0.2)
    return list(by_identity.values())
