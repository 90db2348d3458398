"""Quantities are parsed and formatted as people write them."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.units import (
    format_bytes,
    format_rate,
    format_seconds,
    format_share,
    parse_bytes,
    parse_per_second,
    parse_rate,
    parse_seconds,
    parse_share,
)


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("64KiB", 65536),
        ("64 KiB", 65536),
        ("64kib", 65536),
        ("64kB", 64000),
        ("1500", 1500),
        ("1500 B", 1500),
        (1500, 1500),
        ("1.5KiB", 1536),
        ("1e3", 1000),
        ("0", 0),
        ("2GiB", 2**31),
    ],
)
def test_sizes_are_parsed_with_and_without_a_unit(text: str | int, size_bytes: int) -> None:
    assert parse_bytes(text) == size_bytes


@pytest.mark.parametrize("text", ["64K", "64k", "64KB", "64kb", "1M", "2G"])
def test_a_size_with_an_ambiguous_prefix_is_refused_and_the_error_names_both_meanings(
    text: str,
) -> None:
    with pytest.raises(ValueError, match=r"write \d+[KMG]iB .* or \d+[kMG]B "):
        parse_bytes(text)


@pytest.mark.parametrize(
    "text", ["", "B", "-1", "1_000", "0x10", "64 KiB extra", "1,5KiB", "٣", "nan", "9" * 50, True]
)
def test_a_text_that_is_no_size_is_refused_with_an_example_of_a_size(text: str) -> None:
    with pytest.raises(ValueError, match="64KiB"):
        parse_bytes(text)


def test_a_size_with_a_fraction_of_a_byte_is_refused() -> None:
    with pytest.raises(ValueError, match="whole number of bytes"):
        parse_bytes("0.3KiB")


@pytest.mark.parametrize(
    ("text", "time_s"),
    [
        ("10s", 10.0),
        ("500ms", 0.5),
        ("250 us", 0.00025),
        ("250µs", 0.00025),
        ("2min", 120.0),
        ("1h", 3600.0),
        ("1 h 9 min", 4140.0),
        ("10", 10.0),
        (0.25, 0.25),
        (3, 3.0),
        (1e-7, 1e-7),
    ],
)
def test_times_are_parsed_with_and_without_a_unit(text: str | float, time_s: float) -> None:
    assert parse_seconds(text) == time_s


def test_decimal_times_are_parsed_without_a_rounding_error() -> None:
    assert parse_seconds("0.3s") == 0.3
    assert Decimal(repr(parse_seconds("300ms"))) == 3 * Decimal(repr(parse_seconds("100ms")))


@pytest.mark.parametrize("text", ["2m", "10sec", "s", "-1s", "1:30", "1e999s", "1 min 5", True])
def test_a_text_that_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="min"):
        parse_seconds(text)


@pytest.mark.parametrize(
    ("text", "rate_bit_per_s"),
    [
        ("100Mbit", 1e8),
        ("100mbit", 1e8),
        ("100 Mbit/s", 1e8),
        ("100Mbps", 1e8),
        ("2.5Gbit", 2.5e9),
        ("64kbit", 64e3),
        ("1000", 1e3),
        (1e9, 1e9),
    ],
)
def test_rates_are_parsed_with_prefixes_in_upper_and_lower_case(
    text: str | float, rate_bit_per_s: float
) -> None:
    assert parse_rate(text) == rate_bit_per_s


@pytest.mark.parametrize("text", ["100MBps", "100 MB/s", "100MB"])
def test_a_rate_in_bytes_is_refused_and_the_error_says_how_to_write_bits(text: str) -> None:
    with pytest.raises(ValueError, match="write 100Mbit/s"):
        parse_rate(text)


@pytest.mark.parametrize("text", ["fast", "Mbit", "100Kibit", "", float("inf"), float("nan")])
def test_a_text_or_number_that_is_no_rate_is_refused(text: str | float) -> None:
    with pytest.raises(ValueError, match="100Mbit"):
        parse_rate(text)


def test_a_share_is_parsed_only_with_a_percent_sign() -> None:
    assert [parse_share(text) for text in ("2.5 %", "95%", "0.1 %")] == [0.025, 0.95, 0.001]
    for text in ("0.95", "95", "% 5", "5 percent", "-1 %", ""):
        with pytest.raises(ValueError, match=r"such as 2\.5 % or 95 %"):
            parse_share(text)
    assert [format_share(share) for share in (0.025, 0.95, 0.999)] == ["2.5 %", "95 %", "99.9 %"]


def test_a_number_per_second_is_parsed_with_and_without_its_unit() -> None:
    assert parse_per_second("5k/s") == parse_per_second("5000") == parse_per_second(5000) == 5000.0
    with pytest.raises(ValueError, match="a number per second"):
        parse_per_second("5 kHz")


@given(st.integers(0, 2**45))
def test_every_formatted_size_is_parsed_back_to_the_same_number_of_bytes(size_bytes: int) -> None:
    assert parse_bytes(format_bytes(size_bytes)) == size_bytes


@given(st.floats(0, 1e7, allow_subnormal=False))
def test_every_formatted_time_is_parsed_back_within_its_rounding(time_s: float) -> None:
    text = format_seconds(time_s)
    step_s = 0.5 if time_s < 3600 else 30
    assert abs(parse_seconds(text) - time_s) <= max(0.005 * time_s, step_s * (time_s >= 59), 1e-6)


@given(st.floats(0, 9e14))
def test_every_formatted_rate_is_parsed_back_within_a_hundredth_of_its_unit(
    rate_bit_per_s: float,
) -> None:
    text = format_rate(rate_bit_per_s)
    assert len(text.partition(" ")[0].partition(".")[0]) <= 3
    unit_bit_per_s = parse_rate("1" + text.partition(" ")[2])
    assert abs(parse_rate(text) - rate_bit_per_s) <= 0.0051 * unit_bit_per_s


@given(st.text(max_size=60))
def test_any_text_is_parsed_as_a_quantity_or_refused_with_an_error_of_one_line(text: str) -> None:
    for parse in (parse_bytes, parse_seconds, parse_rate, parse_per_second, parse_share):
        try:
            assert parse(text) >= 0
        except ValueError as error:
            assert len(str(error).splitlines()) == 1


def test_sizes_times_and_rates_are_formatted_with_the_largest_fitting_unit() -> None:
    assert [format_bytes(n) for n in (65536, 1500, 0, 1 << 20)] == [
        "64 KiB",
        "1500 B",
        "0 B",
        "1 MiB",
    ]
    assert [format_seconds(t) for t in (0, 0.5, 1.5, 59.999, 200, 3599.7, 4160, -2)] == [
        "0 s",
        "500 ms",
        "1.5 s",
        "1 min",
        "3 min 20 s",
        "1 h",
        "1 h 9 min",
        "-2 s",
    ]
    assert [format_rate(r) for r in (0, 94.148e6, 1e8, 999.999e6, 1.234e9)] == [
        "0 bit/s",
        "94.15 Mbit/s",
        "100 Mbit/s",
        "1.00 Gbit/s",
        "1.23 Gbit/s",
    ]


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.025, "2.5 %"),
        (0.99949, "99.9 %"),
        (12.5, "1250 %"),
        (123456.0, "12300000 %"),
        (0.0, "0 %"),
        (1e-7, "0.00001 %"),
        (-0.031, "-3.1 %"),
        (1.0, "100 %"),
    ],
)
def test_shares_are_formatted_as_percent_in_plain_digits(share: float, text: str) -> None:
    assert format_share(share) == text
