"""The list of causes: each pair of a place and a thing, written before anything was measured.

A row says how its cause is planted, which further words it may have, what may truly be said of a
run with it (``follows``), and what must not be said (``never``). A claim that is neither the cause
nor in ``follows`` must not be said either: ``never`` names what is likely to be said.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from benchmarks.space.words import CLASSES, Pattern, patterns

Planter = Literal[
    "forwarder", "cable", "mtu", "quota", "neighbour", "stops", "scaling", "memory", "queue", "flow"
]
"""How a cause is planted: see plants.py."""
EVER = ("always", "trials", "onset")
TIMES = (*EVER, "periodic", "bursts")
KINDS_OF_PACKETS = ("all", "protocol", "family", "length", "class")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A place and a thing, and what is true of a run in which it is planted."""

    where: str
    what: str
    planter: Planter = "forwarder"
    which: tuple[str, ...] = ("all",)
    when: tuple[str, ...] = EVER
    follows: tuple[Pattern, ...] = ()
    never: tuple[Pattern, ...] = ()
    also_when: frozenset[str] = frozenset()
    """Further times that are true of the way in which it is planted."""

    @property
    def name(self) -> str:
        return f"{self.where} {self.what}"

    @property
    def merged(self) -> bool:
        """Whether no counter of a host tells it from another row, which comes first."""
        of_place = {"cable": 1, "device": 1, "path-back": 1}.get(self.where, 0)
        return bool(of_place) and any(
            self.where in kin.places and self.what in kin.things and not kin.which
            for kin in CLASSES
        )


HOSTS = "sender|receiver|sender-socket|receiver-socket|sender-queue:*"
"""What is on a host is none of a cause between the hosts."""
PATHS = "path|path-back|device|cable:*"


def _path(what: str, which: str, when: tuple[str, ...], follows: str, never: str = "") -> Row:
    return Row(
        where="path",
        what=what,
        which=tuple(which.split()),
        when=when,
        follows=patterns(*follows.split()),
        never=patterns(*never.split(), HOSTS),
    )


def _back(
    what: str, when: tuple[str, ...], follows: str, never: str = "path:rate", hosts: str = HOSTS
) -> Row:
    return Row(
        where="path-back",
        what=what,
        which=("all", "acknowledgements", "family", "class"),
        when=when,
        follows=patterns(*follows.split()),
        never=patterns(*never.split(), hosts),
    )


_MOST = " ".join(KINDS_OF_PACKETS)
_PATH = (
    # A full queue drops and delays.
    _path("rate", f"{_MOST} direction fragments", (*TIMES, "begin"), "path:drops|delay|jitter"),
    # A lower rate follows too, but the word `rate` claims a limit of it, which is not there.
    _path(
        "drops",
        f"{_MOST} port direction fragments",
        (*TIMES, "begin"),
        "path:order|pause|jitter",
        "path:rate path-back:*",
    ),
    # A longer path needs a longer window, so sockets may truly be too small for it.
    Row(
        where="path",
        what="delay",
        which=(*KINDS_OF_PACKETS, "fragments"),
        when=(*TIMES, "begin"),
        # Where it sets in, nothing arrives for so long.
        follows=patterns(
            "path|path-back:delay|jitter|pause", "sender-socket|receiver-socket:memory"
        ),
        never=patterns("*:drops", "sender|receiver:*", "sender-queue:*"),
    ),
    _path("jitter", f"{_MOST} fragments", TIMES, "path|path-back:delay|order|pause", "*:drops"),
    # Segments that overtake others are sent again, though none was lost.
    _path("order", f"{_MOST} port", TIMES, "path:jitter|delay", "*:drops *:rate"),
    _path("copies", f"{_MOST} port", TIMES, "path:order", "*:rate"),
    # The receiving host drops what is corrupt: it is lost there, for want of no room.
    Row(
        where="path",
        what="corruption",
        which=(*KINDS_OF_PACKETS, "port", "direction", "fragments"),
        when=TIMES,
        follows=patterns("path|receiver:drops", "path:order"),
        never=patterns("receiver-socket:*", "path:rate", "sender|sender-socket|sender-queue:*"),
    ),
    _path("length", "all protocol family", EVER, "path:drops cable|path:setting"),
    _path(
        "pause",
        "all protocol family class direction",
        ("periodic", "bursts", "begin"),
        "path:delay|jitter path:drops",
        "path:rate",
    ),
)
_PATH_BACK = (
    _back("rate", (*TIMES, "begin"), "path-back:drops|delay|jitter path:jitter|pause"),
    _back("drops", TIMES, "path-back:order|pause path:pause|jitter", "path:rate|drops"),
    _back(
        "delay",
        (*TIMES, "begin"),
        "path|path-back:delay|jitter|pause sender-socket|receiver-socket:memory",
        "*:drops path:rate",
        "sender|receiver|sender-queue:*",
    ),
    _back("jitter", TIMES, "path|path-back:delay|jitter path:pause", "*:drops path:rate"),
    _back("order", TIMES, "path-back:jitter|delay", "*:drops path:rate"),
    _back("copies", TIMES, "path-back:order", "path:rate|drops"),
    _back(
        "corruption",
        TIMES,
        "path-back|sender:drops path-back:order",
        "path:rate|drops",
        "receiver|sender-socket|receiver-socket|sender-queue:*",
    ),
    _back("pause", ("periodic", "bursts", "begin"), "path|path-back:delay|jitter|pause"),
)
_BETWEEN = (
    Row(
        where="cable",
        what="rate",
        planter="cable",
        follows=patterns("path-back:rate", "path:drops|delay", "sender-queue:delay|drops"),
        never=patterns("sender|receiver:cpu|memory|pause", "receiver-socket:*"),
    ),
    Row(
        where="cable",
        what="setting",
        planter="mtu",
        follows=patterns("cable|path:length", "path:drops", "sender|receiver:setting"),
        never=patterns("*:rate", "sender|receiver:cpu|memory|pause"),
    ),
    Row(
        where="cable",
        what="corruption",
        when=TIMES,
        follows=patterns(
            "path|path-back|receiver|sender:drops", "path|path-back:corruption|order|pause"
        ),
        never=patterns("receiver-socket:*", "*:rate"),
    ),
    Row(
        where="device",
        what="rate",
        when=TIMES,
        follows=patterns("path-back:rate", "path|path-back|device:drops|delay|jitter"),
        never=patterns(HOSTS),
    ),
    Row(
        where="device",
        what="drops",
        when=TIMES,
        follows=patterns("path-back:drops", "path|path-back:order|pause|jitter"),
        never=patterns(HOSTS, "*:rate"),
    ),
    Row(
        where="device",
        what="pause",
        when=("periodic", "bursts"),
        follows=patterns("path-back:pause", "path|path-back|device:delay|jitter|drops"),
        never=patterns(HOSTS, "*:rate"),
    ),
)
_HOSTS = (
    Row(
        where="sender",
        what="cpu",
        planter="quota",
        when=(*EVER, "periodic"),
        also_when=frozenset({"periodic"}),
        # After a wait, what was due comes at once.
        follows=patterns("sender:pause|rate|delay|jitter|setting", "receiver-socket:drops"),
        never=patterns(PATHS, "receiver:*", "receiver-socket|sender-socket:memory"),
    ),
    Row(
        where="receiver",
        what="cpu",
        planter="quota",
        when=(*EVER, "periodic"),
        also_when=frozenset({"periodic"}),
        follows=patterns(
            "receiver:pause|rate|delay|jitter|setting", "receiver-socket:drops|memory"
        ),
        never=patterns(PATHS, "sender|sender-socket|sender-queue:*"),
    ),
    Row(
        where="sender",
        what="pause",
        planter="stops",
        when=("periodic", "bursts"),
        follows=patterns("sender:rate|delay|jitter"),
        never=patterns(PATHS, "receiver|receiver-socket:*"),
    ),
    Row(
        where="receiver",
        what="pause",
        planter="stops",
        when=("periodic", "bursts"),
        follows=patterns("receiver:rate|delay|jitter", "receiver-socket:drops|memory"),
        never=patterns(PATHS, "sender|sender-socket|sender-queue:*"),
    ),
    Row(
        where="sender",
        what="setting",
        planter="scaling",
        follows=patterns("sender-socket|receiver-socket:memory|setting"),
        never=patterns(PATHS, "sender|receiver:cpu|pause"),
    ),
    Row(
        where="receiver",
        what="setting",
        planter="scaling",
        follows=patterns("sender-socket|receiver-socket:memory|setting"),
        never=patterns(PATHS, "sender|receiver:cpu|pause"),
    ),
    Row(
        where="sender-queue",
        what="drops",
        planter="queue",
        follows=patterns("sender:drops", "sender-queue:rate|memory|setting"),
        never=patterns(PATHS, "receiver|receiver-socket:*"),
    ),
    Row(
        where="sender-queue",
        what="rate",
        planter="flow",
        # What others send takes of the rate of the whole path.
        follows=patterns("sender|path|cable:rate", "sender-queue|path|cable:drops|delay"),
        never=patterns("sender|receiver:cpu|memory|pause", "path-back:*"),
    ),
    Row(
        where="sender-socket",
        what="memory",
        planter="memory",
        follows=patterns("sender-socket|sender:setting"),
        never=patterns(PATHS, "receiver|receiver-socket:*"),
    ),
    Row(
        where="receiver-socket",
        what="memory",
        planter="memory",
        follows=patterns("receiver-socket|receiver:setting"),
        never=patterns(PATHS, "sender|sender-socket|sender-queue:*"),
    ),
)
ROWS: Mapping[str, Row] = {
    row.name: row for rows in (_PATH, _PATH_BACK, _BETWEEN, _HOSTS) for row in rows
}
"""``WHERE WHAT`` → its row."""
