"""Expectations in a matrix are read, checked, and applied to the cells that they mean."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from folders import DOCS
from hypothesis import given
from hypothesis import strategies as st

from netlab.config.matrix_file import comparisons_in, expectations_in, load_matrix
from netlab.config.schema import SCHEMA_FILE
from netlab.errors import MatrixError
from netlab.experiment.cells import Expectation
from netlab.experiment.matrix import Matrix

MATRIX = """\
link: {rate: 100Mbit}
pairings: [LL, WL]
tests:
  - {test: stream, protocol: [TCP, UDP], message_size: [64, 1472], socket_buffer: [auto, 64KiB]}
  - {test: round_trip, protocol: UDP, message_size: 18}
expect:
"""


@pytest.fixture
def load(tmp_path: Path) -> Any:
    def from_text(text: str) -> Matrix:
        path = tmp_path / "m.yaml"
        path.write_text(text, encoding="utf-8")
        return load_matrix(path)

    return from_text


@pytest.mark.parametrize(
    ("line", "words", "limit", "of"),
    [
        ("throughput: {at_least: 90 % of the ceiling}", "throughput at least 90 % of the ceiling",
         0.9, "ceiling"),
        ("throughput: {at_least: 90% of ceiling}", "throughput at least 90 % of the ceiling", 0.9,
         "ceiling"),
        ("throughput: {at_least: 80Mbit}", "throughput at least 80 Mbit/s", 8e7, "bit/s"),
        ("loss: {at_most: 0.1 %}", "loss at most 0.1 %", 0.001, "share"),
        ("loss: {at_most: 0 %}", "loss at most 0 %", 0.0, "share"),
        ("round_trip: {at_most: 500us}", "mean round trip at most 500 us", 5e5, "ns"),
        ("baseline: {no_worse_by: 5 %}", "no worse than the baseline by 5 %", 0.05, "baseline"),
    ],
)  # fmt: skip
def test_each_bound_of_an_expectation_is_read_and_printed_in_words(
    load: Any, line: str, words: str, limit: float, of: str
) -> None:
    (expectation,) = load(f"{MATRIX}  - {line}\n").expectations
    assert str(expectation) == words
    assert expectation.limit == pytest.approx(limit)
    assert expectation.of == of


def test_expectations_have_bounds_for_payload_and_rate_without_loss(load: Any) -> None:
    text = (
        "link: {rate: 100Mbit}\npairings: [LL]\ntests:\n"
        "  - {test: throughput_search, frame_size: 64}\n  - {test: payload_search, protocol: TCP}\n"
        "expect:\n  - frames: {at_least: 90 % of the line rate}\n    payload: {at_least: 1448}\n"
        "  - frames: {at_least: 5k/s}\n"
    )
    sentences = [str(expectation) for expectation in load(text).expectations]
    assert sentences == [
        "payload at least 1448 B",
        "rate without loss at least 90 % of the line rate",
        "rate without loss at least 5,000/s",
    ]


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("throughput: {at_least: 90 %}", "7:28: expect[0].throughput.at_least: 90 %: should be "
         "a share of the ceiling, such as `90 % of the ceiling`"),
        ("throughput: {at_least: 90 % of the line rate}", "should be a share of the ceiling, such "
         "as `90 % of "),
        ("throughput: {at_least: 190 % of the ceiling}", "190 % of the ceiling is more than 100 %"),
        ("throughput: {at_least: 0Mbit}", "0Mbit is not above 0"),
        ("throughput: {at_least: fast}", "'fast' is not a rate in bit/s, such as 100Mbit"),
        ("throughput: {at_most: 80Mbit}", "7:18: expect[0].throughput.at_most: unknown key"),
        ("throughput: 80Mbit", "7:17: expect[0].throughput: `80Mbit` should be a mapping"),
        ("throughput: {}", "7:17: expect[0].throughput.at_least: the key is missing"),
        ("throughputs: {at_least: 80Mbit}", "unknown key; did you mean `throughput`?"),
        ("loss: {at_most: 0.1}", "0.1 is not a percentage, such as 2.5 % or 95 %"),
        ("loss: {at_most: 100 %}", "100 % is not below 100 %"),
        ("loss: {at_most: [0 %]}", "should be one value"),
        ("round_trip: {at_most: 5}", ""),
        ("round_trip: {at_most: 2m}", "m is not a unit of time: write min or ms"),
        ("baseline: {no_worse_by: 0 %}", "0 % is not above 0"),
        ("baseline: {no_worse_by: 100 %}", "100 % is not below 100 %"),
        ("when: {protocol: UDP}", "7:5: expect[0]: expects nothing: give one of throughput, loss,"),
        ("{when: {protocol: SCTP}, loss: {at_most: 1 %}}", "expect[0].when.protocol: `SCTP` is n"),
        ("{when: {mesage_size: 64}, loss: {at_most: 1 %}}", "did you mean `message_size`?"),
        ("{when: {protocol: TCP}, loss: {at_most: 1 %}}", "expect[0].loss: applies to no cell "
         "with a loss (`stream` and `round_trip` tests over UDP have one)"),
        ("frames: {at_least: 5/s}", "applies to no cell with a rate without loss"),
        ("{unless: {pairing: [LL, WL]}, baseline: {no_worse_by: 1 %}}", "applies to no cell"),
    ],
)  # fmt: skip
def test_an_invalid_expectation_is_refused_with_a_reason(load: Any, line: str, fault: str) -> None:
    text = f"{MATRIX}  - {line}\n"
    if not fault:
        assert load(text).expectations
        return
    with pytest.raises(MatrixError) as excinfo:
        load(text)
    assert fault in str(excinfo.value)


def cells(matrix: Matrix, expectation: Expectation) -> list[tuple[Any, ...]]:
    from netlab.experiment.matrix import expand

    plain = [{**c.settings, "pairing": c.pairing, "test": c.test} for c in expand(matrix)]
    names = ("pairing", "test", "protocol", "message_bytes", "socket_buffer_bytes")
    return [tuple(map(cell.get, names)) for cell in plain if expectation.is_about(cell)]


def test_an_expectation_applies_to_cells_that_have_its_quantity_and_match_its_conditions(
    load: Any,
) -> None:
    matrix = load(
        MATRIX
        + "  - throughput: {at_least: 1Mbit}\n"
        + "  - {when: {pairing: LL}, loss: {at_most: 1 %}}\n"
        + "  - when: {socket_buffer: auto, message_size: [64, 18]}\n"
        + "    unless: {test: stream, protocol: TCP}\n"
        + "    baseline: {no_worse_by: 5 %}\n"
    )
    throughput, loss, baseline = (cells(matrix, expectation) for expectation in matrix.expectations)
    assert len(throughput) == 16
    assert {cell[1] for cell in throughput} == {"stream"}
    assert {cell[:3] for cell in loss} == {("LL", "stream", "UDP"), ("LL", "round_trip", "UDP")}
    assert sorted(map(str, baseline)) == sorted(
        str((pairing, test, "UDP", size, None))
        for pairing in ("LL", "WL")
        for test, size in (("stream", 64), ("round_trip", 18))
    )


def test_a_condition_of_an_expectation_excludes_cells_that_lack_the_setting() -> None:
    condition = {"streams": frozenset([None, 1])}
    expectation = Expectation(what="loss", bound="at most", limit=0.1, of="share", when=condition)
    assert expectation.is_about({"test": "stream", "protocol": "UDP", "streams": 1})
    assert not expectation.is_about({"test": "round_trip", "protocol": "UDP"})


def test_expectations_do_not_change_the_content_hash_of_a_matrix(load: Any) -> None:
    plain = load(MATRIX.removesuffix("expect:\n"))
    assert plain.expectations == ()
    expecting = load(MATRIX + "  - loss: {at_most: 1 %}\n")
    assert expecting.content_hash == plain.content_hash
    assert expectations_in(expecting.text, "m.yaml") == expecting.expectations


def test_the_schema_for_editors_has_the_bounds_of_expectations_and_no_other_keys() -> None:
    section = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))["$defs"]["ExpectSection"]
    assert section["properties"].keys() >= {"when", "unless", "throughput", "loss", "baseline"}
    assert section["additionalProperties"] is False


@pytest.mark.parametrize(
    ("of", "limit", "figure", "words"),
    [
        ("ceiling", 0.9, 0.89999, "89.999 % of the ceiling"),
        ("ceiling", 0.9995, 0.9994, "99.94 % of the ceiling"),
        ("ceiling", 0.9, 0.85, "85 % of the ceiling"),
        ("bit/s", 8e7, 79_999_000.0, "79.999 Mbit/s"),
        ("1/s", 60_000.0, 59_999.9, "59999.9/s"),
        ("bit/s", 8e7, 8e7, "80 Mbit/s"),
        ("ns", 5e5, 500_001.0, "500.001 us"),
    ],
)
def test_a_figure_that_misses_its_limit_is_not_rounded_to_the_limit(
    of: Any, limit: float, figure: float, words: str
) -> None:
    expectation = Expectation(what="throughput", bound="at least", limit=limit, of=of)
    assert expectation.words(figure) == words
    assert str(Expectation(what="loss", bound="at most", limit=0.9995, of="share")) == (
        "loss at most 99.95 %"
    )


@given(st.floats(0.001, 1), st.floats(0, 1))
def test_a_figure_meets_exactly_one_of_two_opposite_bounds_unless_equal_to_the_limit(
    limit: float, figure: float
) -> None:
    least, most = (
        Expectation(what="throughput", bound=bound, limit=limit, of="ceiling")
        for bound in ("at least", "at most")
    )
    assert least.is_met_by(figure) or most.is_met_by(figure)
    assert (least.is_met_by(figure) and most.is_met_by(figure)) == (figure == limit)


def test_the_matrix_in_the_documentation_of_comparisons_has_its_stated_expectations(
    load: Any,
) -> None:
    text = (DOCS / "comparing.md").read_text(encoding="utf-8")
    matrix = load(re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)[0])
    assert [str(expectation) for expectation in matrix.expectations] == [
        "throughput at least 90 % of the ceiling",
        "loss at most 0.1 %",
        "no worse than the baseline by 5 %",
        "no warning",
        "no other-load",
    ]
    assert len(cells(matrix, matrix.expectations[0])) == 3


@given(st.permutations(["pairing: LL", "protocol: TCP", "message_size: 64", "streams: 1",
                        "direction: client-sends", "nodelay: false"]))  # fmt: skip
def test_the_settings_of_a_condition_are_in_the_order_of_their_declaration(
    conditions: list[str],
) -> None:
    cells = ", ".join(conditions)
    text = f"{MATRIX}  - {{when: {{{cells}}}, throughput: {{at_least: 1Mbit}}}}\n"
    (expectation,) = expectations_in(text, "matrix.yaml")
    declared = ["pairing", "protocol", "message_bytes", "direction", "streams", "nodelay"]
    assert [*expectation.when] == declared
    sides = f"{{name: x, baseline: {{{cells}}}, contender: {{{cells.replace('64', '1472')}}}}}"
    text = MATRIX.replace("expect:", f"compare: [{sides}]")
    (comparison,) = comparisons_in(text, "matrix.yaml")
    assert [*comparison.baseline] == [*comparison.contender] == declared
