"""Findings: a closed list of typed statements about a run, each with its evidence. Pure.

They are computed apart from printing, from what records say and from nothing else. Where the
evidence is missing there is no finding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal


class Kind(StrEnum):
    """What a finding states."""

    # What limited a stream.
    WIRE_CEILING = "wire-ceiling"
    SENDER_CPU = "sender-cpu"
    SENDER_CALL_RATE = "sender-call-rate"
    SENDER_QUOTA = "sender-cpu-quota"
    SENDER_STARVED = "sender-starved"
    SENDER_QUEUE_DROPS = "sender-queue-drops"
    SENDER_BUFFER = "sender-buffer"
    RECEIVER_CPU = "receiver-cpu"
    RECEIVER_QUOTA = "receiver-cpu-quota"
    RECEIVER_STARVED = "receiver-starved"
    RECEIVER_WINDOW = "receiver-window"
    RECEIVE_QUEUE_DROPS = "receive-queue-drops"
    STOLEN_CPU = "stolen-cpu"
    SATURATED_CORE = "saturated-core"
    CONGESTION = "congestion"
    PATH_LOSS = "path-loss"
    PACKET_RATE = "packet-rate"
    PACING = "pacing"
    NOT_DETERMINED = "not-determined"

    # What makes a stream's figure doubtful, or its host.
    ABOVE_CEILING = "above-ceiling"
    CLOCK_STEP = "clock-step"
    CLOCK_RATE = "clock-rate"
    PATH_MTU = "path-mtu"
    CONGESTION_DIFFERS = "congestion-differs"
    OTHER_LOAD = "other-load"
    POWER_SAVING = "power-saving"

    # What is not to be believed of a run as it stands, and what its shape tells.
    OUTLIER = "outlier"
    STEP = "step"
    STRAY_TRIAL = "stray-trial"
    FALL = "unexplained-fall"
    NO_TIMESTAMPS = "no-timestamps"
    BUFFER_NO_EFFECT = "buffer-no-effect"
    BUFFER_CAPPED = "buffer-capped"
    BUFFER_DOUBLED = "buffer-doubled"
    SAME_BUFFER = "same-buffer"
    FRAGMENTED = "fragmented"
    LINK_FAR_BELOW = "link-far-below"
    ONE_WAY = "one-way"
    LINK_SPEED = "link-speed"
    LINK_MTU = "link-mtu"
    DUPLEX = "duplex"
    FACTS_CHANGED = "facts-changed"
    VIRTUAL_MACHINE = "virtual-machine"
    OFF_TIME = "off-time"
    FAILED = "failed-trials"
    MISSING = "missing-cells"
    FEWER_CELLS = "fewer-cells"
    UNREPEATED = "cannot-tell"


Severity = Literal["note", "warning"]

SEVERITY: Mapping[Kind, Severity] = {
    Kind.WIRE_CEILING: "note",
    Kind.SENDER_CPU: "warning",
    Kind.SENDER_CALL_RATE: "warning",
    Kind.SENDER_QUOTA: "warning",
    Kind.SENDER_STARVED: "warning",
    Kind.SENDER_QUEUE_DROPS: "warning",
    Kind.SENDER_BUFFER: "warning",
    Kind.RECEIVER_CPU: "warning",
    Kind.RECEIVER_QUOTA: "warning",
    Kind.RECEIVER_STARVED: "warning",
    Kind.RECEIVER_WINDOW: "warning",
    Kind.RECEIVE_QUEUE_DROPS: "warning",
    Kind.STOLEN_CPU: "warning",
    Kind.SATURATED_CORE: "warning",
    Kind.CONGESTION: "note",
    Kind.PATH_LOSS: "warning",
    Kind.PACKET_RATE: "note",
    Kind.PACING: "note",
    Kind.NOT_DETERMINED: "note",
    Kind.ABOVE_CEILING: "warning",
    Kind.CLOCK_STEP: "warning",
    Kind.CLOCK_RATE: "warning",
    Kind.PATH_MTU: "warning",
    Kind.CONGESTION_DIFFERS: "warning",
    Kind.OTHER_LOAD: "note",
    Kind.POWER_SAVING: "note",
    Kind.OUTLIER: "warning",
    Kind.STEP: "note",
    Kind.STRAY_TRIAL: "note",
    Kind.FALL: "note",
    Kind.NO_TIMESTAMPS: "note",
    Kind.BUFFER_NO_EFFECT: "note",
    Kind.BUFFER_CAPPED: "warning",
    Kind.BUFFER_DOUBLED: "note",
    Kind.SAME_BUFFER: "note",
    Kind.FRAGMENTED: "note",
    Kind.LINK_FAR_BELOW: "warning",
    Kind.ONE_WAY: "note",
    Kind.LINK_SPEED: "warning",
    Kind.LINK_MTU: "warning",
    Kind.DUPLEX: "warning",
    Kind.FACTS_CHANGED: "warning",
    Kind.VIRTUAL_MACHINE: "note",
    Kind.OFF_TIME: "warning",
    Kind.FAILED: "warning",
    Kind.MISSING: "note",
    Kind.FEWER_CELLS: "note",
    Kind.UNREPEATED: "note",
}
"""A warning: the figure is not the network's, or not to be believed as it stands."""

ADVICE: Mapping[Kind, str] = {
    Kind.WIRE_CEILING: "the link carries no more in messages of this size",
    Kind.SENDER_CPU: "the figure is the sender's: larger messages, more streams or a faster CPU",
    Kind.SENDER_CALL_RATE: "the figure is that of the sender's system: larger messages or more "
    "streams",
    Kind.SENDER_QUOTA: "raise the sender's CPU quota, or measure outside of its container",
    Kind.SENDER_STARVED: "end what else runs on the sender's CPU, or give the test one of its own",
    Kind.SENDER_QUEUE_DROPS: "lengthen the queue of the sender's interface, or offer less",
    Kind.SENDER_BUFFER: "the figure is the socket's: enlarge the sender's buffer",
    Kind.RECEIVER_CPU: "the figure is the receiver's: larger messages, more streams or a faster "
    "CPU",
    Kind.RECEIVER_QUOTA: "raise the receiver's CPU quota, or measure outside of its container",
    Kind.RECEIVER_STARVED: "end what else runs on the receiver's CPU, or give the test one of its "
    "own",
    Kind.RECEIVER_WINDOW: "the figure is the socket's: enlarge the receiver's buffer",
    Kind.RECEIVE_QUEUE_DROPS: "enlarge the receiver's buffer; where that does not help it is its "
    "CPU",
    Kind.STOLEN_CPU: "the hypervisor gave the CPU to others: measure on a machine of its own, or "
    "have such trials measured again (quiet in the matrix)",
    Kind.SATURATED_CORE: "spread interrupts and threads over more CPUs, or pin them apart",
    Kind.CONGESTION: "look for a slower link or a short queue on the path",
    Kind.PATH_LOSS: "look for a slower link, a short queue or errors on the path",
    Kind.PACKET_RATE: "what forwards or receives takes so many packets a second, of any size",
    Kind.PACING: "offer more to find the limit",
    Kind.NOT_DETERMINED: "what is recorded does not show it",
    Kind.ABOVE_CEILING: "no link carries that: look at the rate stated for it, at offloads, at the "
    "receiver's clock",
    Kind.CLOCK_STEP: "somebody set the clock during the trial: stop that, and measure it again",
    Kind.CLOCK_RATE: "the clock is being corrected: wait until it is in step, and measure again",
    Kind.PATH_MTU: "state the MTU that the path has, or set it",
    Kind.CONGESTION_DIFFERS: "set `congestion` in the matrix, so that all senders use the same",
    Kind.OTHER_LOAD: "measure while nothing else runs on the host",
    Kind.POWER_SAVING: "set the governor or the power plan to performance before measuring",
    Kind.OUTLIER: "measure the cell again; until then go by the median or the mean without it",
    Kind.STEP: "two neighbours bear each other out: look for what changes at this buffer",
    Kind.STRAY_TRIAL: "look at the time of the run for what happened then; go by the median",
    Kind.FALL: "what is recorded does not show why: measure it with the counters of both hosts",
    Kind.NO_TIMESTAMPS: "record the TCP options to be sure",
    Kind.BUFFER_NO_EFFECT: "the buffer needs not be varied here",
    Kind.BUFFER_CAPPED: "raise rmem_max and wmem_max of the host, or leave these sizes out",
    Kind.BUFFER_DOUBLED: "compare buffers of two systems by what they read back",
    Kind.SAME_BUFFER: "these cells are one point measured again",
    Kind.FRAGMENTED: "one lost fragment loses the message: use the next smaller size that fits",
    Kind.LINK_FAR_BELOW: "look at speed, duplex, cable and driver at both ends, and at the rate "
    "stated for the link",
    Kind.ONE_WAY: "look at what differs between the ends: system, driver, way of connection",
    Kind.LINK_SPEED: "state the rate that the interfaces negotiated, or mend the cable",
    Kind.LINK_MTU: "state the MTU that the interfaces have, or set it",
    Kind.DUPLEX: "let both ends negotiate, or set both to full duplex",
    Kind.FACTS_CHANGED: "the trials before and after are not of the same host: measure anew",
    Kind.VIRTUAL_MACHINE: "its CPUs and its clock are shared with others",
    Kind.OFF_TIME: "compare such trials with others of their length only",
    Kind.FAILED: "run the matrix again: what failed is tried anew",
    Kind.MISSING: "a blank enters no mean",
    Kind.FEWER_CELLS: "compare means over the cells that both have",
    Kind.UNREPEATED: "repeat each cell, three times at least, five better",
}


@dataclass(frozen=True, slots=True)
class Group:
    """Cells that differ in other settings only, such as the socket buffer.

    What a finding is not bound to is empty: one about a host has no pairing.
    """

    pairing: str = ""
    protocol: str = ""
    message_bytes: int | None = None
    flow: str = ""
    conditions: tuple[tuple[str, str | int | float | bool | None], ...] = ()
    """Further settings that tell it from others of the run, with their values."""
    host: str = ""

    def __str__(self) -> str:
        size = "" if self.message_bytes is None else str(self.message_bytes)
        words = (self.host, self.pairing, self.protocol, size, self.flow)
        return " ".join(word for word in words if word)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One statement about a group of cells, a host or a run, as far as the evidence shows it."""

    kind: Kind
    severity: Severity
    group: Group
    cells: tuple[str, ...]
    """Keys, in the order of the readings."""
    evidence: Mapping[str, float]
    """Medians over the trials of these cells, units in the key; what is not known is absent."""
    advice: str
    words: Mapping[str, str] = field(default_factory=dict)
    """Evidence that is no number: names, facts before and after, a source."""


def finding(
    kind: Kind,
    group: Group,
    cells: tuple[str, ...] = (),
    evidence: Mapping[str, float | None] | None = None,
    words: Mapping[str, str] | None = None,
) -> Finding:
    """A finding with its kind's severity and advice; evidence that is ``None`` is left out."""
    known = {name: value for name, value in (evidence or {}).items() if value is not None}
    return Finding(
        kind=kind,
        severity=SEVERITY[kind],
        group=group,
        cells=cells,
        evidence=known,
        advice=ADVICE[kind],
        words=words or {},
    )
