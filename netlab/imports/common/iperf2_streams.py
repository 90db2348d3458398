"""What lines of iperf 2 say: the streams of each program's output, and their figures."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from netlab.experiment.records import Value

PORT = 5001
"""The port of a server, unless another is requested."""

End = tuple[str, int]
"""Address and port."""


@dataclass(frozen=True, slots=True)
class Iperf2Figures:
    """What a line says."""

    start_s: float
    seconds: float
    rate_bit_per_s: float
    bits: float
    packets: int | None = None
    losses: int | None = None
    jitter_ms: float | None = None
    reorders: int | None = None
    step_bit_per_s: float | None = None
    """One unit of the last digit of a rounded rate."""


@dataclass(slots=True)
class Iperf2Stream:
    """A connection, or a flow of UDP."""

    name: str
    protocol: str
    client: End
    server: End
    is_sender: bool
    """Whether the side that printed it sends."""
    first: int
    """Number of its first line."""
    last: int
    lines: int = 0
    whole: Iperf2Figures | None = None
    report: Iperf2Figures | None = None
    """The receiver's figures, printed by the sender."""
    sent_messages: int | None = None
    mss_bytes: int = 0
    started_at: str = ""
    end_time: datetime | None = None
    flaw: str = ""

    def add(self, number: int, figures: Iperf2Figures) -> None:
        """A further line; that of the whole test begins at 0 and comes last."""
        self.lines += 1
        self.last = number
        self.whole = figures if figures.start_s == 0 else None

    def is_ended_by(self, figures: Iperf2Figures) -> bool:
        """Whether a line cannot be of this stream, since that of its whole test was there."""
        if self.whole is None or figures.start_s > 0:
            return False
        return self.lines > 1 or figures.bits < self.whole.bits


@dataclass(slots=True)
class Iperf2Block:
    """What one program printed."""

    is_client: bool
    is_text: bool
    protocol: str = ""
    address: str = ""
    """To which a client connects."""
    port: int = PORT
    flows: int = 0
    """Number of streams, if stated."""
    settings: dict[str, Value] = field(default_factory=dict)
    streams: list[Iperf2Stream] = field(default_factory=list)
    sums: list[tuple[int, Iperf2Figures]] = field(default_factory=list)
    """How many streams came before a row SUM, and its figures."""
    errors: list[tuple[int, str]] = field(default_factory=list)
