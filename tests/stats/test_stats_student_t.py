"""Student's t agrees with its printed table and its closed form."""

from __future__ import annotations

import math
import statistics
from decimal import Decimal, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab import stats
from netlab.stats import t_above, t_quantile, t_two_sided


@pytest.fixture(autouse=True, scope="module")
def afresh() -> None:
    """Quantiles are kept once they are known: here they are sought."""
    t_quantile.cache_clear()


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
def test_t_quantiles_match_the_printed_table(
    degrees: int, at_0_95: float, at_0_975: float, at_0_995: float
) -> None:
    assert t_quantile(0.95, degrees) == pytest.approx(at_0_95, abs=5e-4)
    assert t_quantile(0.975, degrees) == pytest.approx(at_0_975, abs=5e-4)
    assert t_quantile(0.995, degrees) == pytest.approx(at_0_995, abs=5e-4)


def test_t_quantiles_are_symmetric_and_approach_the_normal_quantile() -> None:
    assert t_quantile(0.5, 7) == pytest.approx(0, abs=1e-12)
    assert t_quantile(0.1, 7) == pytest.approx(-t_quantile(0.9, 7))
    assert t_quantile(0.975, 10_000) == pytest.approx(
        statistics.NormalDist().inv_cdf(0.975), abs=5e-4
    )


@pytest.mark.parametrize(("probability", "degrees"), [(0, 3), (1, 3), (-0.1, 3), (0.9, 0)])
def test_a_t_quantile_is_refused_for_probabilities_0_and_1_and_for_0_degrees_of_freedom(
    probability: float, degrees: int
) -> None:
    with pytest.raises(ValueError, match="no t "):
        t_quantile(probability, degrees)


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 5, 8, 29, 100, 999, 1000])
def test_the_t_distribution_agrees_with_the_closed_form_for_whole_degrees_of_freedom(
    degrees: int,
) -> None:
    for t in (1e-6, 0.1, 1.0, 2.0, 5.0, 40.0):
        theta = math.atan(t / math.sqrt(degrees))
        within = share_within(theta, degrees)
        assert 1 - t_two_sided(t, degrees) == pytest.approx(within, rel=1e-9, abs=1e-12), t
        assert t_above(t, degrees) + t_above(-t, degrees) == pytest.approx(1), t
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
def test_the_t_quantile_inverts_the_distribution_for_fractional_degrees_of_freedom(
    degrees: float, probability: float
) -> None:
    quantile = t_quantile(probability, degrees)
    assert t_above(quantile, degrees) == pytest.approx(1 - probability, rel=1e-9)
    wider = t_quantile(probability, degrees + 1)
    assert 0 < wider <= quantile


def outside_by_quadrature(t: float, degrees: float, pieces: int = 8000) -> float:
    """P(|T| > t) as a share of what the density over the angle from ±90° comes to: Simpson's rule.

    The density is the sine of that angle to the power ν - 1; the angle is taken as a square, so
    that broken powers are smooth at 0. Nothing is taken from 1: small tails keep their digits.
    """

    def area(upto: float) -> float:
        step = math.sqrt(upto) / pieces
        heights: list[float] = [
            math.sin((k * step) ** 2) ** (degrees - 1) * 2 * k * step for k in range(pieces + 1)
        ]
        inner = 4 * sum(heights[1::2]) + 2 * sum(heights[2:-1:2])
        return step / 3 * (heights[0] + inner + heights[-1])

    return area(math.atan(math.sqrt(degrees) / t)) / area(math.pi / 2)


@pytest.mark.parametrize("degrees", [1, 1.5, 2.9090909, 4, 17.776])
def test_t_tails_agree_with_quadrature_for_fractional_degrees_of_freedom(degrees: float) -> None:
    for t in (0.01, 0.5, 1.0, 2.5, 10.0, 40.0):
        tail = outside_by_quadrature(t, degrees)
        assert t_two_sided(t, degrees) == pytest.approx(tail, rel=1e-9, abs=0), t
        assert t_two_sided(-t, degrees) == t_two_sided(t, degrees)
        assert t_above(t, degrees) == pytest.approx(tail / 2, rel=1e-9, abs=0), t
        assert t_above(-t, degrees) == pytest.approx(1 - tail / 2, rel=1e-12), t


@pytest.mark.parametrize("degrees", [2, 4, 30, 100, 1000])
def test_tiny_t_tails_agree_with_a_calculation_of_400_digits(degrees: int) -> None:
    """Abramowitz and Stegun 26.7.4 with 400 digits: 10^-209 is still 190 of them above nothing."""
    for t in (0.01, 1.0, 10.0, 40.0):
        with localcontext(prec=400):
            squared = Decimal(t) ** 2
            term = total = Decimal(1)
            for step in range(2, degrees, 2):
                term *= degrees / (degrees + squared) * (step - 1) / step
                total += term
            tail = float(1 - (squared / (degrees + squared)).sqrt() * total)
        assert t_two_sided(t, degrees) == pytest.approx(tail, rel=1e-10, abs=0), t


@pytest.mark.parametrize("degrees", [1, 2.5, 30, 1e6])
def test_t_tails_are_1_at_zero_and_0_at_infinity(degrees: float) -> None:
    assert t_two_sided(0, degrees) == 1
    assert t_above(0, degrees) == 0.5
    for far in (math.inf, -math.inf, 1e200):
        assert t_two_sided(far, degrees) == 0
    assert t_above(math.inf, degrees) == 0
    assert t_above(-math.inf, degrees) == 1


@pytest.mark.parametrize("degrees", [0.999, 0, -3, math.nan])
def test_the_t_distribution_refuses_fewer_than_one_degree_of_freedom(degrees: float) -> None:
    for function in (t_two_sided, t_above):
        with pytest.raises(ValueError, match="degrees of freedom"):
            function(1.0, degrees)
    with pytest.raises(ValueError, match="degrees of freedom"):
        t_quantile(0.9, degrees)


@pytest.mark.parametrize("t", [0.5, 1.0, 1.96, 3.0])
def test_t_tails_with_many_degrees_of_freedom_are_the_normal_tails(t: float) -> None:
    normal = 2 * (1 - statistics.NormalDist().cdf(t))
    assert t_two_sided(t, 1e6) == pytest.approx(normal, rel=5e-5)


@pytest.mark.parametrize("degrees", [1, 1.5, 2.9090909, 4, 17.776, 100.5])
def test_a_t_quantile_needs_at_most_16_evaluations_of_the_distribution(
    degrees: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Halving alone takes fifty: the slope is what makes it fast."""
    looks = 0
    beta = stats._beta

    def counted(a: float, b: float, x: float, complement: float) -> float:
        nonlocal looks
        looks += 1
        return beta(a, b, x, complement)

    monkeypatch.setattr(stats, "_beta", counted)
    for probability in (0.8, 0.95, 0.975, 0.9999):
        t_quantile.cache_clear()
        looks = 0
        t_quantile(probability, degrees)
        assert looks <= 16


@pytest.mark.parametrize("degrees", [1, 1.5, 4, 17.776, 100.5, 1000])
def test_the_continued_fraction_of_a_t_probability_has_at_most_100_terms(
    degrees: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes some √ν of them (Numerical Recipes, 6.4), each with four guards against 0."""
    guards = 0
    away_from_zero = stats._away_from_zero

    def counted(value: float) -> float:
        nonlocal guards
        guards += 1
        return away_from_zero(value)

    monkeypatch.setattr(stats, "_away_from_zero", counted)
    for t in (0.01, 0.5, 1.0, 2.5, 10.0, 40.0):
        guards = 0
        t_two_sided(t, degrees)
        assert 0 < guards <= 4 * 100
