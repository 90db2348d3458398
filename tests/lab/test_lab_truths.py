"""The truths of benchmarks/truth/planted_truths.py are named, and a clean run is not warned of."""

from __future__ import annotations

import pytest
from labs import needs_a_lab

from benchmarks.truth.planted_truths import TRUTHS, Truth, is_named, run_of, warned_of
from netlab.findings.analysis import findings
from netlab.findings.finding import Kind

pytestmark = [*needs_a_lab, pytest.mark.slow]

SECONDS, WARM_UP_S = 0.6, 0.3
(CLEAN,) = (truth for truth in TRUTHS if truth.expected is None)
PLANTED = [truth for truth in TRUTHS if truth is not CLEAN]


def named(truth: Truth) -> object:
    """The truth under its own name."""
    marks = [pytest.mark.needs("quota")] if "cpu_shares" in truth.lab else []
    return pytest.param(truth, id=truth.planted, marks=marks)


def test_eleven_truths_are_told_apart() -> None:
    assert len({truth.planted for truth in TRUTHS}) == len(TRUTHS) == 11
    assert len({truth.expected for truth in TRUTHS}) == 11


@pytest.mark.sampled(most=4)
@pytest.mark.parametrize("truth", [named(truth) for truth in PLANTED])
def test_what_is_planted_is_named_and_where_it_is_of_some_pairings_of_these_alone(
    truth: Truth,
) -> None:
    found = findings(run_of(truth, SECONDS, WARM_UP_S))
    said = {
        (str(each.kind), each.group.pairing, each.severity)
        for each in found
        if each.kind is truth.expected or each.severity == "warning"
    }
    assert is_named(truth, found), f"{truth.expected} of {truth.planted}; said: {sorted(said)}"


def test_a_clean_run_reaches_the_ceiling_of_its_cable_and_is_not_warned_of() -> None:
    run = run_of(CLEAN, 1.0)
    found = findings(run)
    assert warned_of(found) == []
    # At 100 Mbit/s and an MTU of 1500; TCP with timestamps.
    for protocol, share in (("TCP", 1448 / 1538), ("UDP", 1472 / 1538)):
        frame = run.frame[run.frame["protocol"] == protocol]
        shares = sorted(frame["throughput_bit_per_s"] / (100e6 * share))
        assert len(shares) == 3
        assert 0.98 <= shares[1] <= 1.001, (protocol, shares)
        kinds = {each.kind for each in found if each.group.protocol == protocol}
        assert Kind.WIRE_CEILING in kinds
