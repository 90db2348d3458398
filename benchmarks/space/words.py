"""The five words of a cause, which of them no host can tell apart, and what cannot be planted.

A cause is said in five words: where it acts, what it does, to which packets, when, and how much.
``all`` and ``always`` are defaults: who says them has said nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from netlab.findings.claims import WHAT, WHERE, Claim

DEFAULTS = frozenset({"", "all", "always"})
SHARES: Mapping[float, int] = {0.10: 200, 0.40: 100, 0.02: 100}
"""How much → its number of runs among 400."""
SENDERS = ("sender", "sender-socket", "sender-queue")
RECEIVERS = ("receiver", "receiver-socket")
BETWEEN = ("cable", "device", "path")


@dataclass(frozen=True, slots=True)
class Words:
    """A cause in words, as it is planted."""

    where: str
    what: str
    which: str = "all"
    when: str = "always"
    share: float = 0.1
    """0 to 1: of the rate without the cause, or of what the cause acts on."""

    def __str__(self) -> str:
        return f"{self.where} {self.what} {self.which} {self.when} {100 * self.share:g} %"

    def each(self) -> tuple[tuple[str, str], ...]:
        """Every word with its kind, without how much."""
        kinds = ("where", "what", "which", "when")
        return tuple((kind, getattr(self, kind)) for kind in kinds)


@dataclass(frozen=True, slots=True)
class Pattern:
    """Claims of these places and things; an empty set stands for any."""

    where: frozenset[str] = frozenset()
    what: frozenset[str] = frozenset()

    def covers(self, claim: Claim) -> bool:
        """Whether the claim says nothing beyond the pattern. An empty word says nothing."""
        is_place = not self.where or claim.where in {"", *self.where}
        is_thing = not self.what or claim.what in {"", *self.what}
        return is_place and is_thing

    def names(self, claim: Claim) -> bool:
        """Whether the claim says every word of which the pattern has some."""
        is_place = not self.where or claim.where in self.where
        is_thing = not self.what or claim.what in self.what
        return is_place and is_thing


def patterns(*texts: str) -> tuple[Pattern, ...]:
    """Patterns from texts such as ``path|path-back:drops|delay``; ``*`` is any.

    Raises ValueError for a word of no vocabulary.
    """
    return tuple(map(_pattern, texts))


def _pattern(text: str) -> Pattern:
    places, _, things = text.partition(":")
    return Pattern(_known(places, WHERE), _known(things, WHAT))


def _known(words: str, vocabulary: Iterable[str]) -> frozenset[str]:
    if words == "*":
        return frozenset()
    chosen = frozenset(words.split("|"))
    if unknown := chosen - {*vocabulary}:
        raise ValueError(f"{sorted(unknown)[0]!r} is no word of a cause")
    return chosen


@dataclass(frozen=True, slots=True)
class Class:
    """Causes that no counter a host lets us read can separate."""

    places: frozenset[str]
    things: frozenset[str]
    why: str
    which: frozenset[str] = frozenset()
    """The packets for which it holds; empty: all."""


CLASSES = (
    Class(
        frozenset(BETWEEN),
        frozenset({"rate", "drops", "delay", "jitter", "order", "copies", "corruption", "pause"}),
        "a host counts what leaves and what arrives; which piece between has acted, only that "
        "piece can say, and none of these lets itself be read",
    ),
    Class(
        frozenset({"path", "path-back"}),
        frozenset({"delay"}),
        "two hosts whose clocks are set by the path itself know the sum of both ways, not each",
    ),
    Class(
        frozenset({"path", "path-back"}),
        frozenset({"jitter", "pause"}),
        "of a stream TCP states round trips, which both ways make longer, and data stop arriving "
        "whichever way stops",
        frozenset({"acknowledgements"}),
    ),
    Class(
        frozenset({"trials", "onset"}),
        frozenset(),
        "with two or three trials a cause that has come and stays looks like one that comes and "
        "goes",
    ),
)
"""Classes of places for these things; the last one is of times."""


UNCOUNTED: Mapping[str, str] = {
    "order": "TCP counts how often it saw that segments were overtaken, and not how many were",
}
"""Things of which nothing counts how much over TCP → why: there a claim need not say it."""


def same_place(planted: Words, said: str) -> bool:
    """Whether a claim's place is the planted one, or cannot be told from it."""
    return said == planted.where or any(
        {said, planted.where} <= kin.places
        and planted.what in kin.things
        and (not kin.which or planted.which in kin.which)
        for kin in CLASSES
    )


def same_time(planted: Words, said: str) -> bool:
    """Whether a claim's time is the planted one, or cannot be told from it."""
    return said == planted.when or any({said, planted.when} <= kin.places for kin in CLASSES)


MACHINE = "needs a machine with a kernel of its own"
UNPLANTABLE: Mapping[str, str] = {
    "sender|receiver:memory": (
        "a host without memory makes the whole machine swap, and tcp_mem and udp_mem are "
        "the machine's; needs a machine with a kernel of its own"
    ),
    "sender|receiver:rate": "a host is slow by its CPU, its queue or a setting: these are planted",
    "sender|receiver:drops": (
        "a namespace drops by its packet filter, which no user may read; the backlog of "
        "CPUs (softnet) is the machine's; needs a machine with a kernel of its own"
    ),
    "sender|receiver:delay|jitter": (
        "a host that is late with every packet looks to both hosts like a longer path"
    ),
    "sender|receiver|sender-socket|receiver-socket|sender-queue:order|copies|corruption|length": (
        "a kernel's stack keeps order, number, content and length of what passes it"
    ),
    "sender-socket|receiver-socket:rate|setting": (
        "the options of a socket are the program's, which the matrix sets"
    ),
    "sender-socket:drops|delay|jitter|pause|cpu": (
        "a full socket lets its program wait: planted as `sender-socket memory`"
    ),
    "receiver-socket:drops": (
        "rmem_default is the machine's; a socket that overflows because its program waits"
        " is planted as `receiver cpu`"
    ),
    "receiver-socket:delay|jitter|pause|cpu": (
        "a socket waits for its program: planted as `receiver cpu` and `receiver pause`"
    ),
    "sender-queue:delay|jitter|pause|memory|setting": (
        "this kernel has no fq_codel, cake, netem, and its interfaces have no rings and "
        "no flow control; needs a machine with a kernel of its own"
    ),
    "sender-queue:cpu": "a queue has no CPU of its own",
    "cable:drops": "what a wire loses fails its checksum: planted as `cable corruption`",
    "cable:delay|jitter|order|copies|length|cpu|memory": "a wire does not do this",
    "cable:pause": (
        "virtual interfaces have no pause frames; needs a machine with a kernel of its own"
    ),
    "device:delay|jitter|order|copies|corruption|length": (
        "planted as `path`, from which no counter tells it"
    ),
    "device|path|path-back:cpu|memory|setting": (
        "what stands between does not let itself be read; it shows by what it does to packets"
    ),
    "path-back:length": "what comes back is short: no limit of its length meets it",
}
"""Places and things that cannot be planted in namespaces of one machine → why."""
NOT_TOGETHER: Mapping[str, str] = {
    "acknowledgements, UDP": "UDP has none",
    "acknowledgements, length": "they have one length",
    "acknowledgements, path": "they are what comes back",
    "fragments, TCP": "TCP makes none",
    "fragments or port, begin": "pieces and parallel streams begin once, within microseconds",
    "pause, always or trials": "a pause has an end",
    "delay, all packets or acknowledgements, always": (
        "that is a longer path: nothing in a run says that it was shorter before"
    ),
    "rate that comes and goes, streams of TCP": "TCP tells of it what it loses, and nothing else",
    "a host, begin": "a program begins before its first packet: it is over when the window opens",
    "a host, which packets": (
        "a CPU, a socket's memory and a stop concern all of a program's packets"
    ),
}
"""Words that no cause has together → why."""
OF_MACHINES: Mapping[str, str] = {
    "a clock that steps or drifts": "the wall clock is the whole machine's",
    "softnet drops, rings, interrupts, offloads": "virtual interfaces have none",
    "fq_codel, cake, netem, policers": "modules that this kernel may not have",
    "reboot into another kernel": "namespaces share the one that runs",
}
"""Causes beyond the words, which need machines with a kernel of their own → why."""
