"""Each try of a rate search decides which rate is tried next and how the search ends."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pytest

from netlab.kinds.throughput_search.rate_search import (
    NextRate,
    RateGrid,
    RateTry,
    Search,
    SearchResult,
    TryVerdict,
)

Told = tuple[TryVerdict, float | None]
"""A verdict, and the share of the line rate at which frames came out."""


def walked(search: Search, tries: Sequence[TryVerdict | Told]) -> tuple[Search, list[int]]:
    """The search after these tries, each of the rate that is asked for; the numbers asked for."""
    numbers = []
    for entry in tries:
        verdict, share = entry if isinstance(entry, tuple) else (entry, None)
        step = search.next()
        assert isinstance(step, NextRate)
        numbers.append(step.number)
        search = search.after(RateTry(step.number, step.full, verdict, share))
    return search, numbers


def over(rates: int, *, short: bool = False) -> Search:
    """A search over so many rates."""
    return Search.over(RateGrid(Fraction(1, rates)), short=short)


def test_a_rate_search_tries_the_hinted_rate_then_the_next_two_rates_then_the_middle() -> None:
    """A quarter of the line rate came out: 5 of 20, 6, 7, and then half-way from 7 to 20."""
    search, numbers = walked(over(20), ["lost", ("lost", 0.25), "passed", "passed", "passed"])
    assert numbers == [20, 20, 5, 6, 7]
    assert search.next() == NextRate(13, True)


def test_a_rate_search_ignores_a_hint_equal_to_the_failed_rate() -> None:
    search, _ = walked(over(20), [("lost", 1.0), ("lost", 1.0)])
    assert search.next() == NextRate(10, True)


def test_a_rate_search_uses_the_hint_of_the_last_failed_try() -> None:
    search, _ = walked(over(20), [("lost", 0.8), ("lost", 0.4)])
    assert search.next() == NextRate(8, True)
    # 8 passed, whatever came out meanwhile: 9 is next by the hint of 20's, not 12 by its own.
    search, _ = walked(search, [("passed", 0.6)])
    assert search.next() == NextRate(9, True)
    # The tries of 9 say nothing of their own, so 20's hint is asked once more: 10 is its last.
    search, _ = walked(search, ["passed"])
    assert search.next() == NextRate(10, True)


def test_a_rate_needs_one_short_pass_and_two_passes_at_full_length() -> None:
    search, numbers = walked(over(4, short=True), ["passed"])
    assert search.next() == NextRate(4, True)
    search, numbers = walked(search, ["passed"])
    assert search.next() == NextRate(4, True)
    search, numbers = walked(search, ["passed"])
    assert numbers == [4]
    assert search.next() == SearchResult(4, None, "line rate", True)


def test_a_rate_search_continues_at_the_rate_that_a_slowing_sender_reached() -> None:
    """11 of 20 steps came out: the eight rates in between are not tried one by one."""
    slow: list[Told] = [("generator-bound", 0.9), ("generator-bound", 0.7)]
    search, numbers = walked(
        over(20, short=True), ["passed", *slow, ("generator-bound", 0.55), "passed", "passed"]
    )
    assert numbers == [20, 20, 20, 20, 11, 11]
    assert search.next() == SearchResult(11, 20, "generator-bound", True)


@pytest.mark.parametrize("share", [None, 1.0, 0.99])
def test_a_rate_search_goes_one_step_down_if_a_slowing_sender_shows_no_clearly_lower_rate(
    share: float | None,
) -> None:
    tired: list[Told] = [("generator-bound", share)] * 3
    search, _ = walked(over(20, short=True), ["passed", *tired])
    assert search.next() == NextRate(19, True)


def test_a_rate_search_goes_only_one_step_down_even_if_the_device_forwarded_only_half() -> None:
    search, _ = walked(over(20, short=True), ["passed", ("lost", 0.5), ("lost", 0.5)])
    assert search.next() == NextRate(19, True)


def test_a_rate_that_was_decided_at_full_length_is_not_tried_again() -> None:
    """Half the rates passed twice on the way up; three quarters passed once, then failed twice."""
    search, numbers = walked(
        over(4), ["lost", "lost", "lost", "passed", "passed", "passed", "lost", "lost"]
    )
    assert numbers == [4, 4, 2, 2, 2, 3, 3, 3]
    assert search.next() == SearchResult(2, 3, "device", False)


def test_short_tries_decide_nothing_about_a_rate_at_full_length() -> None:
    """2 of 4 passed short; when 3 fails at full length, 2 is tried anew at full length."""
    search, numbers = walked(
        over(4, short=True), ["lost", "lost", "passed", "passed", "lost", "lost"]
    )
    assert numbers == [4, 4, 2, 3, 3, 3]
    assert search.next() == NextRate(2, True)


def test_the_lowest_rate_is_tried_at_full_length_before_the_search_reports_no_rate() -> None:
    search, _ = walked(over(2, short=True), ["passed", "lost", "lost"])
    assert search.next() == NextRate(1, True)
    search, _ = walked(search, ["absorbed", "absorbed"])
    assert search.next() == SearchResult(None, 1, "device", True)


def test_a_lowest_rate_that_fails_after_one_pass_gives_no_rate_and_a_search_not_monotone() -> None:
    search, numbers = walked(over(2), ["lost", "lost", "passed", "lost", "lost"])
    assert numbers == [2, 2, 1, 1, 1]
    assert search.next() == SearchResult(None, 1, "device", False)
    assert (search.at, search.holds) == (0, 0)


def test_a_rate_search_reports_an_upper_bound_at_the_line_rate() -> None:
    search, numbers = walked(over(2), ["lost", "lost", "passed", "passed"])
    assert numbers == [2, 2, 1, 1]
    assert search.next() == SearchResult(1, 2, "device", True)


def test_an_ended_rate_search_stores_its_result_and_has_no_rate_left() -> None:
    search, _ = walked(over(4, short=True), ["passed", "lost", "lost", "passed", "passed"])
    assert search.result == SearchResult(3, 4, "device", True)
    assert (search.at, search.holds) == (0, 3)


@pytest.mark.parametrize("failure", ["lost", "absorbed"])
def test_a_failed_try_below_the_result_makes_the_search_not_monotone(
    failure: TryVerdict,
) -> None:
    """The result's own two passes stand at its own number: neither above nor below it."""
    below: list[TryVerdict | Told] = ["lost", ("lost", 0.5), failure, "passed", "passed", "passed"]
    search, numbers = walked(over(4), below)
    assert numbers == [4, 4, 2, 2, 2, 3]
    search, _ = walked(search, ["passed"])
    assert search.next() == SearchResult(3, 4, "device", False)


@pytest.mark.parametrize(
    ("verdict", "limit", "tries"),
    [
        ("lost", "device", 2),
        ("absorbed", "device", 2),
        ("tester-loss", "receiver-bound", 3),
        ("generator-bound", "generator-bound", 3),
    ],
)
def test_a_rate_is_ruled_out_after_two_device_failures_or_three_tester_failures(
    verdict: TryVerdict, limit: str, tries: int
) -> None:
    search, numbers = walked(over(1), [verdict] * tries)
    assert numbers == [1] * tries
    assert search.next() == SearchResult(None, 1, limit, True)  # type: ignore[arg-type]
    assert search.tries == (RateTry(1, True, verdict),) * tries
