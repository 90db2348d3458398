"""Histograms have the buckets of the protocol, close percentiles and exact merging."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from draws import drawn
from hypothesis import given
from hypothesis import strategies as st
from made_histograms import of_values, to_pairs

from netlab.stats.histogram import (
    BITS,
    Histogram,
    bucket_of,
    from_pairs,
    lowest_of,
    merge,
    middle_of,
    width_of,
)

values_ns = st.integers(0, 2**64 - 1) | st.integers(0, 2**20)
bit_counts = st.integers(1, 12)
lists = st.lists(values_ns, max_size=200)


@given(values_ns, bit_counts)
def test_a_value_lies_in_its_bucket_and_the_bucket_is_as_narrow_as_its_bits_require(
    value: int, bits: int
) -> None:
    bucket = bucket_of(value, bits)
    low, width = lowest_of(bucket, bits), width_of(bucket, bits)
    assert low <= value < low + width
    assert width == 1 or width << bits <= low
    assert low <= middle_of(bucket, bits) < low + width


@given(st.integers(0, 57 * 2**7 + 2**7 - 1))
def test_histogram_buckets_follow_each_other_without_a_gap(bucket: int) -> None:
    assert lowest_of(bucket + 1) == lowest_of(bucket) + width_of(bucket)
    assert bucket_of(lowest_of(bucket)) == bucket


@pytest.mark.parametrize(
    ("value", "bucket"),
    [(0, 0), (127, 127), (128, 128), (255, 255), (256, 256), (257, 256), (258, 257), (512, 384)],
)
def test_the_first_histogram_buckets_match_the_formula_of_the_protocol(
    value: int, bucket: int
) -> None:
    assert bucket_of(value, 7) == bucket


def test_negative_values_and_values_over_64_bits_have_no_histogram_bucket() -> None:
    for value in (-1, 2**64):
        with pytest.raises(ValueError, match="outside of 0 to"):
            bucket_of(value)


@pytest.mark.parametrize("shape", ["lognormal", "two peaks", "heavy tail"])
def test_histogram_percentiles_of_many_values_are_within_1_percent_of_the_exact_percentiles(
    shape: str,
) -> None:
    rng = np.random.default_rng(20261121)
    n = drawn(10**5, 10**6)
    samples = {
        "lognormal": rng.lognormal(10, 0.7, n),
        "two peaks": np.where(
            rng.random(n) < 0.3, rng.normal(6e3, 200, n), rng.normal(9e4, 5e3, n)
        ),
        "heavy tail": 5e3 * (1 + rng.pareto(1.5, n)),
    }[shape].astype(np.int64)
    # Counted with numpy's own arithmetic, so that this does not take a minute.
    exponent = np.maximum(np.floor(np.log2(samples)).astype(np.int64) - BITS, 0)
    buckets = np.where(
        samples < 2**BITS, samples, (exponent + 1) * 2**BITS + (samples >> exponent) - 2**BITS
    )
    numbers, counts = np.unique(buckets, return_counts=True)
    histogram = Histogram(BITS, dict(zip(numbers.tolist(), counts.tolist(), strict=True)))
    assert histogram.count == n
    for share in ("0.5", "0.9", "0.99", "0.999", "0.9999"):
        exact = int(np.quantile(samples, float(share), method="inverted_cdf"))
        assert histogram.percentile(Fraction(share)) == pytest.approx(exact, rel=0.01), share


@given(st.lists(values_ns, min_size=1, max_size=300), st.fractions(0, 1))
def test_a_histogram_percentile_is_within_half_a_bucket_of_the_nearest_rank(
    values: list[int], share: Fraction
) -> None:
    if not 0 < share < 1:
        with pytest.raises(ValueError, match="between 0 and 1"):
            of_values(values).percentile(share)
        return
    percentile = of_values(values).percentile(share)
    n = len(values)
    if n * (1 - share) < 1:
        assert percentile is None
        return
    rank = -(-n * share.numerator // share.denominator)
    exact = sorted(values)[rank - 1]
    assert percentile is not None
    assert abs(percentile - exact) <= width_of(bucket_of(exact)) / 2


def test_the_rank_of_a_percentile_is_exact_for_decimal_shares_and_for_large_counts() -> None:
    # The float 0.1 is above 1/10; floats of the size of 2^59 are multiples of 64 or 128.
    assert of_values(range(1, 11)).percentile(0.1) == 1
    assert Histogram(7, {1: 2**59, 2: 2**59 + 2}).percentile(0.5) == 2
    # Two values in the middle of a bucket: the lower one represents the bucket.
    assert [middle_of(bucket_of(value)) for value in (5, 257, 515)] == [5, 256, 513]


def test_a_histogram_with_too_few_values_has_no_high_percentile() -> None:
    hundred = of_values(range(100))
    assert hundred.percentile(0.99) == 98
    assert hundred.percentile(0.999) is None
    assert of_values([5]).percentile(0.5) is None
    assert of_values([]).percentile(0.5) is None


@given(lists, lists)
def test_merging_two_histograms_gives_the_histogram_of_all_values(
    first: list[int], second: list[int]
) -> None:
    assert merge([of_values(first), of_values(second)]) == of_values([*first, *second])


@given(lists, lists, st.tuples(bit_counts, bit_counts))
def test_histograms_of_different_resolution_merge_to_the_coarser_resolution(
    first: list[int], second: list[int], bits: tuple[int, int]
) -> None:
    histogram = merge([of_values(first, bits[0]), of_values(second, bits[1])])
    assert histogram == of_values([*first, *second], min(bits))


@given(lists)
def test_a_histogram_written_as_pairs_is_read_back_unchanged(values: list[int]) -> None:
    histogram = of_values(values)
    pairs = to_pairs(histogram)
    assert from_pairs(pairs) == histogram
    assert pairs[::2] == sorted(pairs[::2])
    assert sum(pairs[1::2]) == histogram.count == len(values)


@pytest.mark.parametrize(
    ("pairs", "sentence"),
    [
        ([1], "come in pairs"),
        ([3, 1, 2, 1], "not in ascending order"),
        ([3, 1, 3, 1], "not in ascending order"),
        ([3, 0], "a count is at least 1"),
        ([-1, 2], "bucket -1"),
        ([10**9, 2], "bucket 1000000000"),
        ([1, 2.5], "whole numbers"),
    ],
)
def test_malformed_histogram_pairs_are_refused_with_a_sentence(
    pairs: list[int], sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        from_pairs(pairs)


def test_merging_no_histograms_is_refused() -> None:
    with pytest.raises(ValueError, match="no histograms"):
        merge([])


def test_a_histogram_cannot_be_changed_to_a_finer_resolution() -> None:
    with pytest.raises(ValueError, match="cannot be changed to"):
        of_values([1], 3).coarser(4)
