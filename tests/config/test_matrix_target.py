"""A matrix may name a long path as its target, which is no part of its content."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from made_runs import made_plan

from netlab.config.matrix_file import load_matrix
from netlab.config.schema import SCHEMA_FILE
from netlab.errors import MatrixError
from netlab.experiment.matrix import LongPath, Matrix, expand
from netlab.store.plan import from_text, plan_of, to_text

MATRIX = """\
pairings: [LL]
tests:
  - {test: stream, protocol: [TCP, UDP], message_size: 1448}
"""


@pytest.fixture
def load(tmp_path: Path) -> Any:
    def from_file(text: str) -> Matrix:
        path = tmp_path / "m.yaml"
        path.write_text(text, encoding="utf-8")
        return load_matrix(path)

    return from_file


def test_a_target_is_read_as_round_trip_and_rate_and_stored_in_the_plan(load: Any) -> None:
    matrix = load(MATRIX + "target: {rtt: 50ms, rate: 1Gbit}\n")
    assert matrix.target == LongPath(0.05, 1e9)
    plan = plan_of(matrix, expand(matrix))
    text = to_text(plan, "2026-01-31T12:00:00Z")
    assert json.loads(text)["target"] == {"rtt_s": 0.05, "rate_bit_per_s": 1e9}
    read, _ = from_text(text, plan.matrix_text)
    assert read.target == matrix.target


def test_a_target_is_no_part_of_the_content_and_is_stored_only_if_given(load: Any) -> None:
    plain_matrix, target_matrix = (
        load(MATRIX),
        load(MATRIX + "target: {rtt: 20ms, rate: 100Mbit}\n"),
    )
    assert plain_matrix.target is None
    assert (
        plain_matrix.content_hash == target_matrix.content_hash
        and plain_matrix.content == target_matrix.content
    )
    assert [cell.key for cell in expand(plain_matrix)] == [
        cell.key for cell in expand(target_matrix)
    ]
    assert "target" not in to_text(
        plan_of(plain_matrix, expand(plain_matrix)), "2026-01-31T12:00:00Z"
    )


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("target: {rtt: 50ms}", "m.yaml:4:9: target.rate: the key is missing"),
        ("target: {rtt: 50ms, rat: 1Gbit}", "unknown key; did you mean `rate`?"),
        ("target: {rtt: 0s, rate: 1Gbit}", "m.yaml:4:15: target.rtt: 0s is too little"),
        ("target: {rtt: 2h, rate: 1Gbit}", "target.rtt: "),
        ("target: {rtt: 50ms, rate: fast}", "m.yaml:4:27: target.rate: 'fast' is not a rate"),
        ("target: 50ms", "m.yaml:4:9: target: `50ms` should be a mapping"),
        ("target:", "m.yaml:4:1: target: has no value"),
    ],
)
def test_an_invalid_target_is_refused_at_its_place(load: Any, line: str, fault: str) -> None:
    with pytest.raises(MatrixError) as excinfo:
        load(f"{MATRIX}{line}\n")
    assert fault in str(excinfo.value)


def test_a_target_in_a_matrix_without_tcp_streams_is_refused(load: Any) -> None:
    text = MATRIX.replace("[TCP, UDP]", "UDP") + "target: {rtt: 50ms, rate: 1Gbit}\n"
    with pytest.raises(
        MatrixError, match="4:9: target: applies only to `stream` tests over TCP, and"
    ):
        load(text)


def test_the_schema_for_editors_requires_round_trip_and_rate_of_a_target() -> None:
    section = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))["$defs"]["TargetSection"]
    assert section["required"] == ["rtt", "rate"]


def test_an_invalid_target_in_a_stored_plan_is_refused() -> None:
    plan = replace(made_plan(), target=LongPath(0.05, 1e9))
    text = to_text(plan, "2026-01-31T12:00:00Z")
    assert from_text(text, "")[0].target == plan.target
    for wrong in (LongPath(-1.0, 1e9), LongPath(0.05, 0.0)):
        with pytest.raises(ValueError, match="must be a number above 0"):
            from_text(to_text(replace(plan, target=wrong), "2026-01-31T12:00:00Z"), "")
