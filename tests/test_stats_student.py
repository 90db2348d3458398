"""Student's t, against its printed table and its closed form."""

from __future__ import annotations

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.stats import t_above, t_quantile, t_two_sided


@pytest.mark.parametrize(
    ("degrees", "at_0_95", "at_0_975", "at_0_995"),
    [
        # NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2.
        (1, 6.314, 12.706, 63.657),
        (2, 2.920, 4.303, 9.925),
        (3, 2.353, 3.182, 5.841),
        (4, 2.132, 2.776, 4.604),
        (5, 2.015, 2.571, 4.032),
        (9, 1.833, 2.262, 3.250),
        (10, 1.812, 2.228, 3.169),
        (29, 1.699, 2.045, 2.756),
        (30, 1.697, 2.042, 2.750),
        (100, 1.660, 1.984, 2.626),
    ],
)
def test_the_t_quantiles_are_those_of_the_printed_table(
    degrees: int, at_0_95: float, at_0_975: float, at_0_995: float
) -> None:
    assert t_quantile(0.95, degrees) == pytest.approx(at_0_95, abs=5e-4)
    assert t_quantile(0.975, degrees) == pytest.approx(at_0_975, abs=5e-4)
    assert t_quantile(0.995, degrees) == pytest.approx(at_0_995, abs=5e-4)


def test_the_t_quantile_is_symmetric_zero_in_the_middle_and_becomes_the_normal_one() -> None:
    assert t_quantile(0.5, 7) == pytest.approx(0, abs=1e-12)
    assert t_quantile(0.1, 7) == pytest.approx(-t_quantile(0.9, 7))
    assert t_quantile(0.975, 10_000) == pytest.approx(
        statistics.NormalDist().inv_cdf(0.975), abs=5e-4
    )


@pytest.mark.parametrize(("probability", "degrees"), [(0, 3), (1, 3), (-0.1, 3), (0.9, 0)])
def test_a_quantile_that_does_not_exist_is_refused(probability: float, degrees: int) -> None:
    with pytest.raises(ValueError, match="no t "):
        t_quantile(probability, degrees)


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 5, 8, 29, 100, 999, 1000])
@pytest.mark.parametrize("t", [1e-6, 0.1, 1.0, 2.0, 5.0, 40.0])
def test_the_distribution_agrees_with_the_closed_form_for_whole_degrees(
    degrees: int, t: float
) -> None:
    theta = math.atan(t / math.sqrt(degrees))
    within = share_within(theta, degrees)
    assert 1 - t_two_sided(t, degrees) == pytest.approx(within, rel=1e-9, abs=1e-12)
    assert t_above(t, degrees) + t_above(-t, degrees) == pytest.approx(1)
    if within < 1 - 1e-6:
        assert t_quantile((1 + within) / 2, degrees) == pytest.approx(t, rel=1e-6)


def share_within(theta: float, degrees: int) -> float:
    """P(|T| <= t) for t = √degrees tan θ (Abramowitz and Stegun 26.7.3 and 26.7.4)."""
    cosine = math.cos(theta)
    odd = degrees % 2
    term = total = cosine if odd else 1.0
    for step in range(2 + odd, degrees, 2):
        term *= cosine * cosine * (step - 1) / step
        total += term
    if not odd:
        return math.sin(theta) * total
    return 2 / math.pi * (theta + (math.sin(theta) * total if degrees > 1 else 0.0))


@given(st.floats(1, 200), st.floats(0.5001, 0.9999))
def test_the_quantile_turns_the_distribution_around_for_broken_degrees_as_well(
    degrees: float, probability: float
) -> None:
    quantile = t_quantile(probability, degrees)
    assert t_above(quantile, degrees) == pytest.approx(1 - probability, rel=1e-9)
    wider = t_quantile(probability, degrees + 1)
    assert 0 < wider <= quantile
