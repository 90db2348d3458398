"""Findings: a closed list of typed statements about a run, each with its evidence. Pure.

They are computed apart from printing, from what records say and from nothing else. Where the
evidence is missing there is no finding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal


class Kind(StrEnum):
    """What a finding states."""

    # What limited a stream.
    WIRE_CEILING = "wire-ceiling"
    SENDER_CPU = "sender-cpu"
    SENDER_CALL_RATE = "sender-call-rate"


Severity = Literal["note", "warning"]

SEVERITY: Mapping[Kind, Severity] = {
    Kind.WIRE_CEILING: "note",
    Kind.SENDER_CPU: "warning",
    Kind.SENDER_CALL_RATE: "warning",
}
"""A warning: the figure is not the network's, or not to be believed as it stands."""

ADVICE: Mapping[Kind, str] = {
    Kind.WIRE_CEILING: "the link carries no more in messages of this size",
    Kind.SENDER_CPU: "the figure is the sender's: larger messages, more streams or a faster CPU",
    Kind.SENDER_CALL_RATE: "the figure is that of the sender's system: larger messages or more "
    "streams",
}


@dataclass(frozen=True, slots=True)
class Group:
    """Cells that differ in other settings only, such as the socket buffer."""

    pairing: str
    protocol: str
    message_bytes: int
    flow: str = ""

    def __str__(self) -> str:
        words = (self.pairing, self.protocol, str(self.message_bytes), self.flow)
        return " ".join(word for word in words if word)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What limited the cells of one group, as far as the evidence shows it."""

    kind: Kind
    severity: Severity
    group: Group
    cells: tuple[str, ...]
    """Keys, in the order of the readings."""
    evidence: Mapping[str, float]
    """Medians over the trials of these cells, units in the key; what is not known is absent."""
    advice: str
