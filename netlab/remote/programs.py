"""What a host does through its agent: programs, its undo log, its lock, and checks of its routes.

docs/protocol.md describes them ("The undo log").
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from netlab import clock
from netlab.errors import HostError, HostGone, LockedError, ProbeError
from netlab.remote.agent import Agent
from netlab.remote.answers import BAD_ANSWER, Pending, decimal
from netlab.trial.record import grouped

STARTS_S = 10.0
ENDS_S = 5.0
"""Time after a program's deadline in which the agent must report the program's end."""
STANDARD_OUTPUT, STANDARD_ERROR = 1, 2


def keys_of(words: Sequence[str], deadline_s: float) -> dict[str, Any]:
    """The keys of a request: program and arguments (``words``), and its deadline in seconds."""
    keys: dict[str, Any] = {"program": words[0]}
    if len(words) > 1:
        keys["arguments"] = "\n".join(words[1:])
    return keys | {"deadline": decimal(deadline_s)}


@dataclass(slots=True)
class Program:
    """A program on a host. The agent ends it at its deadline, or when the agent itself ends."""

    agent: Agent
    words: Sequence[str]
    pending: Pending
    deadline_at: float
    """Time of the controller's monotonic clock by which the agent must report the program's end."""
    texts: dict[int, list[str]] = field(default_factory=dict)
    result: Mapping[str, Any] | None = None
    """The agent's last record about it; ``None`` as long as it runs."""

    @classmethod
    def start(
        cls, agent: Agent, words: Sequence[str], deadline_s: float, entry: str | None = None
    ) -> Program:
        """Start a program, or the command of an ``entry`` of the undo log; wait until it runs.

        Raises ProbeError, for example ``program-missing``, and HostGone.
        """
        if entry is None:
            pending = agent.start("run", **keys_of(words, deadline_s))
        else:
            pending = agent.start("undo", entry=entry)
        program = cls(agent, words, pending, clock.monotonic() + deadline_s + ENDS_S)
        try:
            pending.record(STARTS_S)
        except ProbeError as error:
            program.abort()
            detail = f"{words[0]}: {error.detail or error.word}"
            raise ProbeError(error.host, error.word, errno=error.errno, detail=detail) from None
        return program

    def wait(self) -> Mapping[str, Any]:
        """Wait for the program's end. Returns the agent's last record about it.

        Raises ProbeError if its deadline or its agent ended it, HostGone if the host is lost.
        """
        self._wait_until(self.deadline_at)
        assert self.result is not None  # noqa: S101  (for the type checker)
        return self.result

    def ends_within(self, seconds: float) -> bool:
        """Wait at most ``seconds``. Returns whether it has ended by itself. Raises as ``wait``."""
        try:
            self._wait_until(clock.monotonic() + seconds)
        except ProbeError as error:
            if error.word != "no-answer":
                raise
        return self.result is not None

    def _wait_until(self, until: float) -> None:
        while self.result is None:
            record = self.pending.record(max(0.0, until - clock.monotonic()))
            if record["type"] == "output":
                self.texts.setdefault(record["descriptor"], []).append(record["text"])
            elif record["type"] == "result":
                self.result = record

    def end(self, within_s: float) -> None:
        """Wait until it ends by itself; after ``within_s``, let the agent end it and wait again."""
        self.deadline_at = min(self.deadline_at, clock.monotonic() + within_s)
        try:
            self.wait()
        except ProbeError as error:
            if error.word != "no-answer":
                raise
            self._stop()
            self.deadline_at = clock.monotonic() + ENDS_S
            self.wait()

    def has_ended(self) -> bool:
        """Whether its last record has arrived; does not wait for the record. Raises as ``wait``."""
        return self.ends_within(0.0)

    def abort(self) -> None:
        """End it at once, without a result."""
        if self.result is None:
            self._stop(abort=1)

    def _stop(self, **keys: Any) -> None:
        self.agent.start("stop", test=self.pending.id, **keys)

    def text(self, descriptor: int = STANDARD_OUTPUT) -> str:
        """What it has printed so far."""
        return "".join(self.texts.get(descriptor, ()))

    @property
    def is_cut(self) -> bool:
        """Whether a part of its output was discarded, because it was too long."""
        return self.result is not None and bool(self.result["discarded_bytes"])

    @property
    def cpu_ns(self) -> int | None:
        """CPU time of the ended program; ``None`` if its system does not report it."""
        if self.result is None or "user_ns" not in self.result:
            return None
        return int(self.result["user_ns"]) + int(self.result.get("system_ns", 0))

    @property
    def last_words(self) -> str:
        """The last line of its standard error, or else of its standard output; empty if none."""
        for descriptor in (STANDARD_ERROR, STANDARD_OUTPUT):
            lines = [line.strip() for line in self.text(descriptor).splitlines() if line.strip()]
            if lines:
                return lines[-1]
        return ""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended, and what it printed."""

    exit_code: int | None
    """``None`` if a signal or its deadline ended it, or if its system does not report it."""
    signal: int | None
    """The signal that ended it, unless its deadline did."""
    killed: bool
    text: str
    errors: str
    is_cut: bool
    """Whether a part of the output was discarded; always false for a killed program (unknown)."""
    left: bool = False
    """Whether the entry of the undo log whose command it was is still there, because it failed."""

    @property
    def output(self) -> str:
        """The last lines of its standard output, then those of its standard error."""
        streams = (self.text, self.errors)
        return "\n".join(line for one in streams for line in one.splitlines()[-LINES_MOST:])


def run_to_end(
    agent: Agent, words: Sequence[str], deadline_s: float, entry: str | None = None
) -> Ended:
    """Run a program on a host, or the command of an ``entry`` of its undo log, and wait for its
    end; its agent kills it at its deadline.

    Raises ProbeError, for example ``program-missing``, and HostGone.
    """
    program, killed = Program.start(agent, words, deadline_s, entry), False
    try:
        program.wait()
    except BaseException as error:
        killed = isinstance(error, ProbeError) and error.word == "deadline"
        if not killed:
            program.abort()
            raise
    result = program.result or {}
    return Ended(
        exit_code=result.get("exit_code"),
        signal=result.get("signal"),
        killed=killed,
        text=program.text(),
        errors=program.text(STANDARD_ERROR),
        is_cut=program.is_cut,
        # If the deadline ended the command of an entry, the entry always stays.
        left=entry is not None and (killed or bool(result.get("left"))),
    )


GUARD_S = 30.0
"""Time limit for a host to register a command: it syncs a file, and its disk may be slow."""
LIST_S = 30.0
LINES_MOST = 10
"""Of each output stream of a command that undoes a change, this many last lines are kept."""
NOT_STARTED = 127
"""Exit code of a command whose program the host does not have; the agent uses the same one."""


@dataclass(frozen=True, slots=True)
class Leftover:
    """An entry of an agent that no longer runs. Its command was not run, or the command failed."""

    entry: str
    """Its id; empty if it is damaged."""
    file: str
    words: tuple[str, ...] = ()
    deadline_s: float = 0.0
    written_wall_ns: int = 0
    """When it was registered, by the host's clock."""
    network_id: int | None = None
    """The network namespace of the agent that registered it."""
    damaged: bool = False
    """Whether its file is unsafe, or the entry was changed or is incomplete. It is never run."""


@dataclass(frozen=True, slots=True)
class Leftovers:
    """The entries that earlier agents left on a host."""

    entries: tuple[Leftover, ...] = ()
    """In the order in which they must be undone; damaged ones last."""
    left_out: int = 0
    elsewhere: int = 0
    """Number of entries that were registered on another machine that shares the folder."""


def keeps_undo_log(agent: Agent) -> bool:
    """Whether the probe of a host has an undo log."""
    return "undo" in str(agent.hello.get("capabilities", "")).split(",")


def guard(agent: Agent, words: Sequence[str], deadline_s: float) -> str:
    """Register a command that undoes a change, before the change; returns the id of its entry.

    Raises ProbeError if it is not registered, HostGone if the host is lost.
    """
    _check(agent)
    return str(agent.ask("guard", timeout_s=GUARD_S, **keys_of(words, deadline_s))["entry"])


def undo(agent: Agent, entry: str, deadline_s: float) -> Ended:
    """Run the command of an entry now, and wait for its end. ``deadline_s``: the entry's deadline.

    Raises ProbeError if it cannot be run, for example ``unknown-entry`` and ``entry-in-use``. If
    the host does not have the program, the exit code is ``NOT_STARTED``, as from a shell. Raises
    HostGone if the host is lost.
    """
    _check(agent)
    try:
        return run_to_end(agent, (f"entry {entry}",), deadline_s, entry)
    except ProbeError as error:
        if error.word != "program-missing":
            raise
        return Ended(NOT_STARTED, None, False, "", error.detail, False, left=True)


def leftovers(agent: Agent) -> Leftovers:
    """The entries of agents that no longer run; no entries if the probe has no undo log.

    Raises ProbeError if they cannot be read, HostGone if the host is lost.
    """
    if not keeps_undo_log(agent):
        return Leftovers()
    until = clock.monotonic() + LIST_S
    pending = agent.start("leftovers")
    entries: list[Leftover] = []
    while (record := pending.record(max(0.0, until - clock.monotonic())))["type"] == "leftover":
        entries.append(_leftover(record))
    if record["count"] != len(entries):
        counts = f"count {record['count']}, but {len(entries)} came before it"
        detail = f"its record leftovers has {counts}"
        raise ProbeError(agent.host.name, BAD_ANSWER, detail=detail)
    return Leftovers(in_order(entries), record["left_out"], record["elsewhere"])


def in_order(found: Sequence[Leftover]) -> tuple[Leftover, ...]:
    """Entries in the order in which they must be undone.

    Entries of one file keep their order, whatever their times: a host may set its clock. If there
    are several files, their next entries are compared, and the latest of these comes first.
    """
    files = grouped((one for one in found if not one.damaged), lambda one: one.file).values()
    ordered = heapq.merge(*files, key=lambda one: -one.written_wall_ns)
    return (*ordered, *(leftover for leftover in found if leftover.damaged))


def _leftover(record: Mapping[str, Any]) -> Leftover:
    if record.get("damaged"):
        return Leftover("", record["file"], damaged=True)
    arguments = record.get("arguments")
    return Leftover(
        entry=record["entry"],
        file=record["file"],
        words=(record["program"], *(() if arguments is None else arguments.split("\n"))),
        deadline_s=record["deadline_ns"] / 1e9,
        written_wall_ns=record["written_wall_ns"],
        network_id=record.get("network_id"),
    )


def _check(agent: Agent) -> None:
    if not keeps_undo_log(agent):
        detail = "its probe has no undo log, so a changed setting might never be put back"
        raise ProbeError(agent.host.name, "capability-missing", detail=detail)


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


@dataclass(frozen=True, slots=True)
class Far:
    """One side of a check of the path: its host's name and its test address."""

    name: str
    address: str


@dataclass(frozen=True, slots=True)
class RouteEnd(Far):
    """One side of a check, with its agent."""

    agent: Agent


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
    return entry_of(facts, address)[0]


def entry_of(facts: Mapping[str, Any], address: str) -> tuple[str | None, str]:
    """The device that has ``address``, and the address with its prefix length; without one,
    ``None`` and the address itself.
    """
    plain = address.partition("%")[0]
    entries = (entry for entry in addresses_in(facts) if entry[1].partition("/")[0] == plain)
    return next(entries, (None, address))


def plain_addresses(facts: Mapping[str, Any]) -> str:
    """The host's addresses for a sentence."""
    return ", ".join(f"{device} {local}" for device, local in addresses_in(facts)) or "none"


def addresses_in(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Device and ``ADDRESS/PREFIX`` of each entry of the facts' ``addresses``."""
    for word in str(facts.get("addresses", "")).split(","):
        device, _, local = word.partition("=")
        if local:
            yield device, local
