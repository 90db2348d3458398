"""A host's lock, and the path of traffic between two hosts: routes and counters of interfaces."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from netlab import clock
from netlab.errors import HostError, HostGone, LockedError, ProbeError
from netlab.remote.agent import Agent

ASK_AGAIN_S = 0.2


@dataclass(frozen=True, slots=True)
class LockOwner:
    """The holder of a host's lock: a run, and the session (netlab process) that measures for it."""

    run: str
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
    while True:
        try:
            agent.ask("lock", owner=str(owner))
            return
        except HostGone:
            raise
        except ProbeError as error:
            if error.word != "locked":
                raise HostError(f"{agent.host.name}: cannot be locked: {error}") from None
            holder = error.detail  # empty if it is not reported
        enough_s = patience(agent, holder) if patience else 0.0
        if clock.monotonic() >= max(give_up_s, began_s + enough_s):
            raise LockedError(
                f"{agent.host.name} is measured by {holder or 'another run'}; "
                "wait for that run with --wait TIME"
            )
        clock.sleep(ASK_AGAIN_S)


PACKETS = {"TCP": 3, "UDP": 1}
"""Protocol → minimum number of packets that its check sends in each direction."""
COUNTERS_S = 3.0
"""Time limit for counters: some drivers update them only every second or two."""


class Far(Protocol):
    """The peer in a check of the path: its host's name and its test address."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def address(self) -> str: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class RouteEnd:
    """One side of a check, with its agent."""

    agent: Agent
    address: str

    @property
    def name(self) -> str:
        """Name of its host."""
        return self.agent.host.name


def check_route(end: RouteEnd, peer: Far) -> Mapping[str, Any]:
    """Check that the kernel's route to the peer uses the interface of the test address.

    Returns the facts of the host. Raises HostError if another interface is used, or if the host
    does not have the address.
    """
    facts = end.agent.facts(to=peer.address)
    test_interface = interface_of(facts, end.address)
    if test_interface is None and "addresses" in facts:
        raise HostError(
            f"{end.name} does not have its test address {end.address}; "
            f"it has {plain_addresses(facts)}"
        )
    interface = facts.get("route_interface")
    if interface is not None and test_interface is not None and interface != test_interface:
        raise HostError(
            f"{end.name} reaches {peer.name} ({peer.address}) over {interface} from "
            f"{facts.get('route_source', 'another address')}, not over the test network "
            f"({test_interface}, {end.address}): correct its routes"
        )
    return facts


def check_counters(
    end: RouteEnd, peer: Far, first_facts: Mapping[str, Any], passed: set[str]
) -> str | None:
    """Check that the route's interface counted the packets of the check, in and out.

    ``passed``: the protocols whose packets arrived. Returns a sentence if the host does not report
    counters. Raises HostError if the counters do not include the packets.
    """
    interface = first_facts.get("route_interface")
    least_packets = sum(PACKETS[protocol] for protocol in passed)
    keys = ("interface_sent_packets", "interface_received_packets")
    if not least_packets:
        return None
    if interface is None or any(key not in first_facts for key in keys):
        return (
            f"{end.name} does not report by which interface packets to {peer.address} leave: "
            "make sure that this interface belongs to the test network"
        )
    give_up = clock.monotonic() + COUNTERS_S
    while True:
        last_facts = end.agent.facts(to=peer.address)
        packet_counts = [last_facts.get(key, 0) - first_facts[key] for key in keys]
        if min(packet_counts) >= least_packets:
            return None
        if clock.monotonic() > give_up:
            raise HostError(
                f"{end.name}: {' and '.join(sorted(passed))} passed to {peer.name}, but "
                f"{interface} counted {packet_counts[0]} packets out and {packet_counts[1]} in: "
                "the traffic does not use the test network"
            )
        clock.sleep(0.1)


def interface_of(facts: Mapping[str, Any], address: str) -> str | None:
    """The device that has ``address``, by ``addresses`` in the facts; ``None`` if none has it."""
    plain = address.partition("%")[0]
    devices = (name for name, local in addresses_in(facts) if local.partition("/")[0] == plain)
    return next(devices, None)


def prefix_of(facts: Mapping[str, Any], address: str) -> str | None:
    """``address`` with its prefix length, by ``addresses`` in the facts; ``None`` without it."""
    plain = address.partition("%")[0]
    locals_ = (local for _, local in addresses_in(facts) if local.partition("/")[0] == plain)
    return next(locals_, None)


def plain_addresses(facts: Mapping[str, Any]) -> str:
    """The host's addresses for a sentence."""
    return ", ".join(f"{device} {local}" for device, local in addresses_in(facts)) or "none"


def addresses_in(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Device and ``ADDRESS/PREFIX`` of each entry of the facts' ``addresses``."""
    for word in str(facts.get("addresses", "")).split(","):
        device, _, local = word.partition("=")
        if local:
            yield device, local
