"""netlab check finds each expectation met, not met, or not to be judged, which is never a pass."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_readings import of_round_trips, planned
from made_streams import Mbit, netlab, run_of, stream, stream_run, stream_values

from netlab.compare.check import Checked, check
from netlab.errors import ExpectationError, IncompleteRun, UsageError
from netlab.findings.analysis import Analysis, load

STEADY = (94.10, 94.12, 94.11, 94.09, 94.13)
MATRIX = """\
link: {rate: 100Mbit}
pairings: [LL]
tests: [{test: stream, protocol: TCP, message_size: 1448}]
"""
CEILING = "throughput: {at_least: 90 % of the ceiling}"
NO_WORSE = "baseline: {no_worse_by: 5 %}"


def expecting(*sections: str) -> str:
    return MATRIX + "expect:\n" + "".join(f"  - {section}\n" for section in sections)


def streams(path: Path, figures: Sequence[Mbit], expect: str = CEILING, **more: Any) -> Analysis:
    cell = stream(**more.pop("cell", {}))
    return stream_run(path, (cell, figures), matrix_text=expecting(expect), **more)


def only(checked: Checked) -> tuple[str, str]:
    (judgement,) = checked.judgements
    return judgement.verdict, judgement.words


def test_a_limit_is_met_only_if_every_trial_meets_the_limit(tmp_path: Path) -> None:
    checked = check(streams(tmp_path / "a", STEADY))
    assert only(checked) == ("met", "99.9 % of the ceiling or better, 5 figures")
    assert checked.met
    checked.raise_for_unmet()
    checked = check(streams(tmp_path / "b", (*STEADY[:3], 70.0, 80.0)))
    assert only(checked) == ("not met", "74.4 % of the ceiling in trial 4, 2 of 5 figures")
    with pytest.raises(ExpectationError, match="0 met, 1 not met, 0 cannot be judged"):
        checked.raise_for_unmet()


def test_a_failed_trial_leaves_a_limit_unjudged_unless_another_trial_misses_the_limit(
    tmp_path: Path,
) -> None:
    checked = check(streams(tmp_path / "a", (*STEADY[:4], None)))
    verdict, words = only(checked)
    assert verdict == "cannot be judged"
    assert words.startswith("1 of 5 without a figure: failed: ")
    assert "(peer-vanished)" in words
    assert not checked.met
    with pytest.raises(IncompleteRun):
        checked.raise_for_unmet()
    assert only(check(streams(tmp_path / "b", (10.0, None))))[0] == "not met"


def test_without_a_wire_ceiling_only_a_limit_in_bits_per_second_can_be_judged(
    tmp_path: Path,
) -> None:
    assert "states no `link`" in only(check(streams(tmp_path / "a", STEADY, link=None)))[1]
    inside = stream_values(94.0, same_host=True)
    for name, expect in (("b", CEILING), ("c", "throughput: {at_least: 90Mbit}")):
        run = run_of(tmp_path / name, (stream(), [inside]), matrix_text=expecting(expect))
        verdict, words = only(check(run))
        if name == "b":
            assert (verdict, "no cable was touched" in words) == ("cannot be judged", True)
        else:
            assert (verdict, words) == ("met", "94 Mbit/s or better, 1 figure")


def test_with_unknown_tcp_options_netlab_check_uses_the_highest_wire_ceiling(
    tmp_path: Path,
) -> None:
    measured_values = stream_values(85.0)
    assert measured_values is not None
    unknown = {"throughput_bit_per_s": measured_values["throughput_bit_per_s"]}
    for values, verdict in ((measured_values, "met"), (unknown, "not met")):
        run = run_of(
            tmp_path / verdict,
            (stream(), [values]),
            matrix_text=expecting("throughput: {at_least: 90 % of the ceiling}"),
        )
        # 90 % of 94.148 is 84.73, of 94.928 it is 85.44.
        assert only(check(run))[0] == verdict


def test_a_limit_is_met_only_if_each_direction_meets_the_limit(tmp_path: Path) -> None:
    values = {"to_server_throughput_bit_per_s": 9e7, "to_client_throughput_bit_per_s": 4e7}
    run = run_of(
        tmp_path / "run",
        (stream(direction="both"), [values]),
        matrix_text=expecting("throughput: {at_least: 80Mbit}"),
    )
    assert only(check(run)) == ("not met", "40 Mbit/s in trial 1, to client, 1 of 2 figures")


def test_a_limit_of_loss_is_a_share_of_sent_messages_and_does_not_apply_to_tcp(
    tmp_path: Path,
) -> None:
    lossy = stream_values(90.0, sent_messages=1000, lost_messages=2)
    text = expecting("loss: {at_most: 0.1 %}")
    cells = [(stream(), [stream_values(94.0)]), (stream(protocol="UDP", size=1472), [lossy])]
    checked = check(run_of(tmp_path / "a", *cells, matrix_text=text))
    assert only(checked) == ("not met", "0.2 % in trial 1")
    silent = [(stream(protocol="UDP", size=1472), [stream_values(90.0)])]
    checked = check(run_of(tmp_path / "b", *silent, matrix_text=text))
    assert only(checked)[0] == "cannot be judged"


def test_round_trips_payloads_and_frames_have_limits_in_their_own_units(tmp_path: Path) -> None:
    payloads: dict[str, Any] = {
        "payload_bytes": 1472,
        "to_client_payload_bytes": 1372,
    }
    rate = {"line_rate_bit_per_s": 1e8, "limit": "device"}
    passed = {**rate, "frames_per_s": 60_000.0, "line_share": 0.4}
    cells: list[Any] = [
        (planned("round_trip"), [of_round_trips([400_000] * 9)]),
        (planned("payload_search"), [payloads]),
        (planned("throughput_search", frame_bytes=64), [passed]),
        (planned("throughput_search", frame_bytes=128), [rate]),
    ]
    text = expecting(
        "round_trip: {at_most: 500us}",
        "payload: {at_least: 1400}",
        "frames: {at_least: 40 % of the line rate}",
    )
    checked = check(run_of(tmp_path / "run", *cells, matrix_text=text))
    assert [(judgement.verdict, judgement.words) for judgement in checked.judgements] == [
        ("met", "400 us or better, 1 figure"),
        ("not met", "1372 B in trial 1, to client, 1 of 2 figures"),
        ("met", "40 % of the line rate or better, 1 figure"),
        ("not met", "0 % of the line rate in trial 1"),
    ]


# A baseline


@pytest.mark.parametrize(
    ("new", "verdict"),
    [
        ([0.97 * mbit for mbit in STEADY], "met"),
        ([0.94 * mbit for mbit in STEADY], "not met"),
        ([1.2 * mbit for mbit in STEADY], "met"),
        ([85.0, 99.0, 89.0, 95.0, 84.0], "cannot be judged"),
        ([94.0], "cannot be judged"),
        ([*STEADY[:4], None], "cannot be judged"),
        ([None, None], "cannot be judged"),
        ([*(0.9 * mbit for mbit in STEADY), None], "not met"),
    ],
)
def test_netlab_check_judges_whether_a_run_is_worse_than_its_baseline(
    tmp_path: Path, new: list[Mbit], verdict: str
) -> None:
    baseline = streams(tmp_path / "old", STEADY, NO_WORSE)
    assert only(check(streams(tmp_path / "new", new, NO_WORSE), baseline))[0] == verdict


def test_a_longer_round_trip_is_worse_than_the_baseline(tmp_path: Path) -> None:
    cell = planned("round_trip")

    def run(name: str, mean_us: int) -> Analysis:
        trials = [of_round_trips([1000 * mean_us + trial] * 9) for trial in range(3)]
        return run_of(tmp_path / name, (cell, trials), matrix_text=expecting(NO_WORSE))

    old, longer, shorter = run("old", 100), run("longer", 110), run("shorter", 90)
    assert only(check(longer, old))[0] == "not met"
    assert only(check(shorter, old))[0] == "met"
    assert only(check(old, longer))[0] == "met"


def test_an_expectation_about_a_baseline_cannot_be_met_without_a_baseline(
    tmp_path: Path,
) -> None:
    run = streams(tmp_path / "a", STEADY, NO_WORSE)
    assert only(check(run)) == ("cannot be judged", "no baseline is given (--baseline RUN)")
    plain = stream_run(tmp_path / "b", (stream(), STEADY), matrix_text=MATRIX)
    with pytest.raises(UsageError, match="has no expectations: write `expect:` into its matrix"):
        check(plain)
    checked = check(plain, run, no_worse_by=0.01)
    assert str(checked.judgements[0].expectation) == "no worse than the baseline by 1 %"
    assert checked.met


def test_a_baseline_of_another_experiment_is_refused_with_the_difference(tmp_path: Path) -> None:
    run = streams(tmp_path / "a", STEADY, NO_WORSE)
    baseline = streams(tmp_path / "b", STEADY, NO_WORSE, cell={"duration_s": 1.0})
    words = "duration: 1 s in the baseline, 10 s in the contender"
    with pytest.raises(UsageError, match=words):
        check(run, baseline)
    checked = check(run, baseline, anyway=True)
    assert (checked.differences, only(checked)[0]) == ((words,), "met")
    assert "throughput, geometric mean +0.00 % (" in only(checked)[1]


def test_with_the_option_anyway_a_cell_that_the_baseline_lacks_cannot_be_judged(
    tmp_path: Path,
) -> None:
    sizes = {"old": (64, 576), "new": (576, 1448)}
    baseline, run = (
        stream_run(
            tmp_path / name,
            *((stream(size=size), STEADY) for size in of_run),
            matrix_text=expecting(NO_WORSE),
        )
        for name, of_run in sizes.items()
    )
    checked = check(run, baseline, anyway=True)
    assert [(one.label, one.verdict) for one in checked.judgements] == [
        ("TCP 576", "met"),
        ("TCP 1448", "cannot be judged"),
    ]
    assert "the baseline has no cell to compare it with" in checked.judgements[1].words
    assert [remark.partition(",")[0] for remark in checked.remarks] == [
        "1 cell only in the baseline",
        "1 cell only in the contender",
    ]


@pytest.mark.parametrize(
    ("figures", "exit_code"), [(STEADY, 0), ((94.0,), 3), ([0.9 * mbit for mbit in STEADY], 5)]
)
def test_the_option_anyway_keeps_the_exit_codes_and_prints_the_differences(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], figures: list[Mbit], exit_code: int
) -> None:
    run = streams(tmp_path / "new", figures, NO_WORSE)
    streams(tmp_path / "old", STEADY, NO_WORSE, cell={"streams": 4})
    words = ("check", str(run.path), "--baseline", str(tmp_path / "old"))
    code, out, err = netlab(capfdbinary, *words)
    assert (code, out) == (2, "")
    assert "streams: 4 in the baseline, 1 in the contender. With --anyway" in err
    code, out, _ = netlab(capfdbinary, *words, "--anyway")
    assert code == exit_code
    sentence = "NOT COMPARABLE, checked anyway: streams: 4 in the baseline, 1 in the contender."
    assert out.startswith(f"{sentence}\n{run.path}, baseline ")
    code, out, _ = netlab(capfdbinary, *words, "--anyway", "--json")
    document = json.loads(out)
    assert (code, document["met"]) == (exit_code, exit_code == 0)
    assert document["differences"] == ["streams: 4 in the baseline, 1 in the contender"]


def test_the_option_anyway_needs_a_run_as_the_baseline(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    run = streams(tmp_path / "new", STEADY)
    for more in ((), ("--baseline", f"history:{tmp_path}")):
        code, _, err = netlab(capfdbinary, "check", str(run.path), "--anyway", *more)
        assert (code, "--anyway is for a run as --baseline" in err) == (2, True)


@given(st.lists(st.floats(50, 100), min_size=2, max_size=6), st.floats(0.01, 0.5))
def test_netlab_check_never_finds_a_run_worse_than_itself(
    values: list[float], share: float
) -> None:
    from netlab.compare.align import AlignedPair
    from netlab.compare.check import _judge_no_worse
    from netlab.trial.column import Quantity

    same = dict(enumerate(values))
    aligned = AlignedPair(
        label="x",
        cells=("a", "a"),
        quantity=Quantity("throughput", "Mbit/s", 1e6, "more", "less", lambda _: None),
        baseline=same,
        contender=same,
        paired=False,
    )
    assert _judge_no_worse(aligned, share)[0] != "not met"


# Output


def test_only_matching_cells_are_judged_and_an_expectation_without_cells_is_not_met(
    tmp_path: Path,
) -> None:
    text = expecting(
        "{when: {message_size: 64}, throughput: {at_least: 1Mbit}}",
        "{unless: {message_size: 64}, throughput: {at_least: 90Mbit}}",
        "frames: {at_least: 5/s}",
    )
    cells = [(stream(size=64), [50.0]), (stream(), [94.0])]
    checked = check(stream_run(tmp_path / "run", *cells, matrix_text=text))
    assert [(judgement.label, judgement.verdict) for judgement in checked.judgements] == [
        ("TCP 64", "met"),
        ("TCP 1448", "met"),
        ("no cell", "cannot be judged"),
    ]
    output = checked.as_text()
    assert "throughput at least 1 Mbit/s where message size, bytes 64: 1 met, 0 not met" in output
    assert "throughput at least 90 Mbit/s but not where message size, bytes 64: 1 met" in output
    assert "cannot be judged  no cell: no cell of the run matches" in output


def test_netlab_check_uses_an_expectation_that_was_added_after_the_run(tmp_path: Path) -> None:
    run = stream_run(tmp_path / "run", (stream(), STEADY), matrix_text=MATRIX)
    (run.path / "matrix.yaml").write_text(expecting(CEILING))
    assert check(load(run.path)).met


def test_the_exit_code_of_netlab_check_shows_the_verdict(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    paths = {
        "met": (STEADY, 0),
        "missed": ((70.0,), 5),
        "open": ((94.0, None), 3),
        "both": ((70.0, None), 5),
    }
    for name, (figures, exit_code) in paths.items():
        run = streams(tmp_path / name, figures)
        code, out, err = netlab(capfdbinary, "check", str(run.path))
        assert (code, bool(err)) == (exit_code, bool(exit_code)), name
        assert out.startswith(f"{run.path}: ")
    code, out, _ = netlab(capfdbinary, "check", str(tmp_path / "open"), "--json")
    content = json.loads(out)
    assert (code, content["met"], content["verdicts"]["cannot be judged"]) == (3, False, 1)
    assert "(peer-vanished)" in content["judgements"][0]["words"]
    against = ("--baseline", str(tmp_path / "met"))
    assert netlab(capfdbinary, "check", str(tmp_path / "met"), *against)[0] == 0
    (tmp_path / "met" / "matrix.yaml").write_text("expect: [")
    code, out, err = netlab(capfdbinary, "check", str(tmp_path / "met"))
    assert (code, out) == (2, "")
    assert "matrix.yaml:1:" in err
