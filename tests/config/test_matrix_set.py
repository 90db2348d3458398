"""``--set`` overrides settings of a matrix, and a wrong override is refused."""

from __future__ import annotations

from typing import Any

import pytest
from folders import ROOT
from made_matrices import SMALL, load, stream_of, streams

from netlab.config.matrix_file import load_matrix
from netlab.errors import MatrixError, UsageError
from netlab.experiment.matrix import expand

__all__ = ["load"]


def test_an_override_replaces_the_values_of_axes_and_rules_in_every_cell(load: Any) -> None:
    text = SMALL + (
        "    duration: [5s, 10s]\n"
        "    override: [{when: {message_size: 64, duration: 5s}, set: {duration: 60s}}]\n"
        "    exclude: [{duration: 10s, protocol: UDP}]\n"
    )
    assert {s.duration_s for s in streams(load(text))} == {5.0, 10.0, 60.0}
    quick = streams(load(text, duration="1s"))
    assert {s.duration_s for s in quick} == {1.0}
    assert len(quick) == 4


def test_an_override_of_count_cancels_the_duration(load: Any) -> None:
    matrix = load(SMALL, count="1000")
    assert {(s.duration_s, s.count) for s in streams(matrix)} == {(None, 1000)}


def test_an_override_may_be_an_axis_or_a_key_of_the_whole_matrix(load: Any) -> None:
    matrix = load(SMALL, message_size="[1, 2, 3]", repeats="4", order="shuffled", seed="7")
    assert {s.message_bytes for s in streams(matrix)} == {1, 2, 3}
    assert (matrix.repeats, matrix.order, matrix.seed) == (4, "shuffled", 7)


def test_a_replace_rule_applies_to_an_overridden_value() -> None:
    matrix = load_matrix(ROOT / "matrices" / "lab-report.yaml", {"message_size": "65536"})
    combinations = {(c.setup.protocol, stream_of(c).message_bytes) for c in expand(matrix)}
    assert combinations == {("TCP", 65536), ("UDP", 64512)}


def test_an_override_is_part_of_the_matrix_content(load: Any) -> None:
    assert load(SMALL).content_hash == load(SMALL, duration="2s").content_hash
    assert load(SMALL).content_hash != load(SMALL, duration="1s").content_hash
    assert load(SMALL, duration="1s").content["tests"][0]["duration_s"] == 1.0
    assert load(SMALL, repeats="2").content["repeats"] == 2


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ({"duraton": "1s"}, "--set duraton: no such setting; did you mean `duration`?"),
        ({"title": "x"}, "--set title: no such setting"),
        ({"pairings": "[LL, LL]"}, "--set pairings=[LL, LL]: the same value as number 1"),
        ({"pairings": "all"}, "--set pairings=all: `all` should be a list"),
        ({"duration": "1x"}, "--set duration=1x: '1x' is not a time, such as 10s"),
        ({"duration": ""}, "--set duration=: has no value"),
        ({"duration": "1s\nrate: 5"}, "--set duration: takes one value on one line"),
        ({"repeats": "many"}, "--set repeats=many: `many` should be a whole number"),
        ({"count": "5", "duration": "1s"}, "--set duration and --set count exclude each other"),
        ({"message_size": "70000"}, "--set message_size=70000: a UDP message carries 65507"),
        (
            {"dscp": "{from: 0, to: 63, step: 1}", "rate": "{from: 1, to: 9999, step: 1}"},
            "too many",
        ),
    ],
)
def test_a_wrong_override_is_refused_with_a_reason(
    overrides: dict[str, str], words: str, load: Any
) -> None:
    with pytest.raises(UsageError) as caught:
        load(SMALL, **overrides)
    assert not isinstance(caught.value, MatrixError)
    assert words in str(caught.value)


def test_a_faulty_matrix_is_refused_even_if_an_override_would_mend_the_fault(load: Any) -> None:
    with pytest.raises(MatrixError, match="matches no cell"):
        load(SMALL + "    exclude: [{message_size: 65}]\n", message_size="65")


def test_cells_that_an_override_makes_equal_are_measured_once(load: Any) -> None:
    text = SMALL + "  - {test: stream, protocol: TCP, message_size: 64, duration: 20s}\n"
    assert len(expand(load(text))) == 2 * 5
    assert len(expand(load(text, duration="1s"))) == 2 * 4


def test_an_override_of_pairings_applies_a_matrix_to_other_systems() -> None:
    matrix = ROOT / "matrices" / "udp-mirror.yaml"
    original, variant = load_matrix(matrix), load_matrix(matrix, {"pairings": "[WL, LW]"})
    assert original.pairings == ("LL",)
    assert {cell.pairing for cell in expand(variant)} == {"WL", "LW"}
    assert variant.content_hash != original.content_hash
