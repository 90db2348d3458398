"""Meshes made up for the tests of findings: every host with every other, with a cause or none."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations

from made_samples import IDLE, changed, tcp, udp

from netlab.findings.derived import StreamSample
from netlab.findings.stream_end import StreamEnd

CEILINGS = {"TCP": 94.148e6, "UDP": 95.709e6}
HOSTS = tuple(f"linux-{letter}" for letter in "abcdefgh")


@dataclass
class MadeMesh:
    """Shares of the ceiling that hosts and pairs let pass; 1 where nothing is said."""

    hosts: Sequence[str]
    sends: Mapping[str, float] = field(default_factory=dict)
    receives: Mapping[str, float] = field(default_factory=dict)
    pairs: Mapping[tuple[str, str], float] = field(default_factory=dict)
    every: float = 0.9995
    scatter: float = 0.001
    trials: int = 3
    protocols: Sequence[str] = ("TCP",)
    slow_at: Sequence[str] = ("TCP", "UDP")
    """Protocols at which the causes show."""
    letters: bool = False
    """Whether pairings are by letters: then hosts are known by the records alone."""

    def samples(self, seed: int = 1) -> tuple[StreamSample, ...]:
        """Of every ordered pair; the client sends."""
        rng = random.Random(seed)  # noqa: S311
        return tuple(self._samples(rng))

    def _samples(self, rng: random.Random) -> Iterator[StreamSample]:
        for protocol in self.protocols:
            for sender, receiver in permutations(self.hosts, 2):
                for trial in range(1, self.trials + 1):
                    share = min(self.every, self._share(protocol, sender, receiver))
                    # Noise takes away: nothing goes beyond the wire.
                    share *= 1 - min(0.9, abs(rng.gauss(0, self.scatter)))
                    yield self._sample(protocol, sender, receiver, trial, share)

    def _share(self, protocol: str, sender: str, receiver: str) -> float:
        if protocol not in self.slow_at:
            return 1.0
        ends = self.sends.get(sender, 1.0), self.receives.get(receiver, 1.0)
        return min(*ends, self.pairs.get((sender, receiver), 1.0))

    def _sample(
        self, protocol: str, sender: str, receiver: str, trial: int, share: float
    ) -> StreamSample:
        ceiling = CEILINGS[protocol]
        return (tcp if protocol == "TCP" else udp)(
            cell=f"{receiver}+{sender}-{protocol}",
            trial=trial,
            pairing="LL" if self.letters else f"{receiver}+{sender}",
            message_bytes=1448,
            conditions=(("direction", "client-sends"), ("protocol", protocol)),
            throughput_bit_per_s=share * ceiling,
            ceiling_bit_per_s=ceiling,
            highest_ceiling_bit_per_s=ceiling,
            sender=_end(sender),
            receiver=_end(receiver),
        )


def _end(host: str) -> StreamEnd:
    return changed(IDLE, host=host)
