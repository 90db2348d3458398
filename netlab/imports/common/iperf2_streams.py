"""Types for what iperf 2 printed: the output of a process, its streams, and their figures."""

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
    """The figures of one line."""

    start_s: float
    seconds: float
    rate_bit_per_s: float
    bits: float
    packets: int | None = None
    losses: int | None = None
    jitter_ms: float | None = None
    reorders: int | None = None
    step_bit_per_s: float | None = None
    """Size of one step in the last printed digit of the rate (100,000 for ``94.1 Mbits/sec``)."""


@dataclass(slots=True)
class Iperf2Stream:
    """A connection, or a flow of UDP."""

    name: str
    protocol: str
    client: End
    server: End
    is_sender: bool
    """Whether the side that printed the stream is the sender."""
    first: int
    """Number of the stream's first line in the file."""
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
        """Add the figures of the next line. The last line is of the whole test, from 0 s on."""
        self.lines += 1
        self.last = number
        self.whole = figures if figures.start_s == 0 else None

    def is_ended_by(self, figures: Iperf2Figures) -> bool:
        """Whether a line with these figures cannot belong to this stream, because the line of the
        stream's whole test was read before.
        """
        if self.whole is None or figures.start_s > 0:
            return False
        return self.lines > 1 or figures.bits < self.whole.bits


@dataclass(slots=True)
class Iperf2Block:
    """What one iperf process printed."""

    is_client: bool
    is_text: bool
    protocol: str = ""
    address: str = ""
    """The address to which a client connects."""
    port: int = PORT
    flows: int = 0
    """Number of streams, if iperf stated it; otherwise 0."""
    settings: dict[str, Value] = field(default_factory=dict)
    streams: list[Iperf2Stream] = field(default_factory=list)
    sums: list[tuple[int, Iperf2Figures]] = field(default_factory=list)
    """For each row SUM: how many streams came before the row, and the row's figures."""
    errors: list[tuple[int, str]] = field(default_factory=list)
