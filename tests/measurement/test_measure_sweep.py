"""A sweep over message sizes shows the wire ceiling of a cable that is the bottleneck."""

from __future__ import annotations

from statistics import median

import pytest
from paths import Path, hosts_on, needs_namespaces, search, shape_client

from netlab.trial.record import Record, Status

pytestmark = [*needs_namespaces, pytest.mark.night]

LINK_BIT_PER_S = 20_000_000
ON_THE_WIRE = {
    1472: 20 + 8 + 1472 + 38,
    1473: (20 + 8 + 1472 + 38) + (46 + 38),
    2952: (20 + 8 + 1472 + 38) + (20 + 1480 + 38),
    2953: (20 + 8 + 1472 + 38) + (20 + 1480 + 38) + (46 + 38),
}
"""Message → the bytes of its frames, by hand: a fragment holds 1480 bytes, the UDP header is in the
first, the shortest frame has room for 46 bytes, and 38 are around each."""


def swept(record: Record) -> dict[int, float]:
    """Message size → its share of the link."""
    assert record.status is Status.OK, record.detail
    sizes = record.values["sweep_message_bytes"]
    rates = record.values["sweep_throughput_bit_per_s"]
    assert isinstance(sizes, list)
    assert isinstance(rates, list)
    return {int(size): rate / LINK_BIT_PER_S for size, rate in zip(sizes, rates, strict=True)}


def test_a_sweep_over_a_shaped_cable_reaches_the_wire_ceiling_of_each_message_size() -> None:
    """Over a cable that is the limit, one byte more than a frame takes costs 5 %: the next
    frame carries it with 83 bytes around it, and no more than what it has room for."""
    ceilings = {size: size / wire_bytes for size, wire_bytes in ON_THE_WIRE.items()}
    assert round(100 * ceilings[1472], 3) == 95.709
    with hosts_on(Path()) as ends:
        shape_client(LINK_BIT_PER_S)
        # A second, because the bucket of the shaper lets through 5 kB more than its rate: 1 % of
        # what it passes in 0.2 s.
        sweeps = [swept(search(ends, protocol="UDP", sweep=True, duration_s=1.0)) for _ in range(5)]
    shares = {size: median(sweep[size] for sweep in sweeps) for size in ceilings}
    assert shares == pytest.approx(ceilings, rel=0.01)
    assert shares[1473] / shares[1472] == pytest.approx(ceilings[1473] / ceilings[1472], rel=0.01)
