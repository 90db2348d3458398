"""A limit search finds the largest size that passes, however larger sizes are refused."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.kinds.payload_search.limit_search import Evidence, SizeTry, find_limit

MOST = 65507


def path(limit: int, evidence: Evidence, hint_bytes: int | None = None) -> Callable[[int], SizeTry]:
    def attempt(size: int) -> SizeTry:
        if size <= limit:
            return SizeTry(size, True)
        return SizeTry(size, False, evidence, hint_bytes)

    return attempt


@given(st.integers(16, MOST), st.lists(st.integers(1, MOST), max_size=3))
def test_the_payload_limit_of_a_black_hole_is_found_whatever_the_guesses(
    limit: int, guesses: list[int]
) -> None:
    measured_limit = find_limit(
        path(limit, "timeout"), least_bytes=16, most_bytes=MOST, guesses=guesses
    )
    assert measured_limit.message_bytes == limit
    assert measured_limit.evidence == ("protocol" if limit == MOST else "timeout")
    sizes = [attempt.message_bytes for attempt in measured_limit.tries]
    assert len(sizes) == len(set(sizes)) <= 2 + math.ceil(math.log2(MOST)) + 2 * len(guesses)


@given(st.integers(16, MOST - 1))
def test_a_refusal_that_names_the_limit_ends_the_search_in_four_tries(limit: int) -> None:
    attempt = path(limit, "emsgsize", hint_bytes=limit)
    measured_limit = find_limit(attempt, least_bytes=16, most_bytes=MOST, guesses=[MOST])
    assert (measured_limit.message_bytes, measured_limit.evidence) == (limit, "emsgsize")
    assert len(measured_limit.tries) <= 4


@given(st.integers(16, 60000), st.integers(0, 1 << 20))
def test_a_refusal_that_names_a_wrong_limit_does_not_change_the_result(
    limit: int, hint_bytes: int
) -> None:
    measured_limit = find_limit(path(limit, "icmp", hint_bytes), least_bytes=16, most_bytes=MOST)
    assert measured_limit.message_bytes == limit


def test_a_right_guess_is_confirmed_by_the_next_larger_size() -> None:
    measured_limit = find_limit(
        path(1472, "timeout"), least_bytes=16, most_bytes=MOST, guesses=[1472]
    )
    assert [attempt.message_bytes for attempt in measured_limit.tries] == [16, 1472, 1473]


def test_a_limit_search_fails_if_the_least_size_does_not_pass() -> None:
    with pytest.raises(ValueError, match="not even 16 bytes pass"):
        find_limit(path(10, "timeout"), least_bytes=16, most_bytes=MOST)


def test_a_path_that_carries_the_largest_size_is_limited_by_the_protocol() -> None:
    measured_limit = find_limit(
        path(MOST, "timeout"), least_bytes=16, most_bytes=MOST, guesses=[MOST]
    )
    assert (measured_limit.message_bytes, measured_limit.evidence) == (MOST, "protocol")
    assert len(measured_limit.tries) == 2


def test_a_size_that_fails_without_evidence_counts_as_a_time_out() -> None:
    measured_limit = find_limit(
        lambda size: SizeTry(size, size <= 99), least_bytes=16, most_bytes=MOST
    )
    assert (measured_limit.message_bytes, measured_limit.evidence) == (99, "timeout")
