"""Searches for the highest rate: whose limit it is, said of truths drawn at random and counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from made_findings import plan_of, run_of
from made_searches import SIZES, Truth, cell_of, run_of_searches, searched, seeded

from netlab.ethernet import frames_per_s
from netlab.experiment.records import Value
from netlab.findings.analysis import Analysis
from netlab.findings.finding import Finding, Kind
from netlab.report.text.findings import sentence
from netlab.report.text.run_index import RunIndex

LIMIT_OF = {
    Kind.SEARCH_FRAME_RATE: {"frames"},
    Kind.SEARCH_POLICER: {"bits"},
    Kind.SEARCH_DEVICE: {"frames", "bits"},
    Kind.SEARCH_LINE_RATE: {"line"},
    Kind.SEARCH_GENERATOR_BOUND: {"generator"},
    Kind.SEARCH_RECEIVER_BOUND: {"receiver"},
}
"""Kind → the truths of which it is right."""
AT_THE_EDGE = 0.012
"""Two limits so near each other, as a share of the line rate, may each be said."""


def said(run: Analysis) -> list[str]:
    return [str(sentence(each, RunIndex(run))) for each in run.findings]


def drawn(random: Random) -> Truth:
    """A device by frames or by bits, a sender and a receiver, each a limit or none."""
    line = random.choice([1e8, 1e9, 1e10])
    most = frames_per_s(line, 64)
    truth = Truth(line_bit_per_s=line, queues=random.random() < 0.3)
    if random.random() < 0.6:
        truth = replace(truth, device_frames=most * random.uniform(0.06, 0.9))
    if random.random() < 0.4:
        account = random.choice(["wire", "frames", "frames-without-fcs", "packets"])
        truth = replace(truth, device_bits=line * random.uniform(0.12, 0.9), account=account)
    if random.random() < 0.3:
        truth = replace(truth, generator_frames=most * random.uniform(0.06, 0.9))
    elif random.random() < 0.3:
        truth = replace(truth, receiver_frames=most * random.uniform(0.06, 0.9))
    return truth


def is_near(truth: Truth, size: int, names: set[str]) -> bool:
    """Whether one of these limits is the lowest, or as good as."""
    line = frames_per_s(truth.line_bit_per_s, size)
    limits = {**truth.limits(size), "line": line}
    least = min(limits.values())
    near = {name for name, limit in limits.items() if limit <= least + AT_THE_EDGE * line}
    return bool(near & names)


def is_right(found: Finding, truth: Truth) -> bool:
    """Of each size that it names, and by its figure."""
    sizes = [int(cell.split("-")[3]) for cell in found.cells]
    if not all(is_near(truth, size, LIMIT_OF[found.kind]) for size in sizes):
        return False
    if found.kind is Kind.SEARCH_FRAME_RATE and truth.device_frames is not None:
        return abs(found.evidence["found_frames_per_s"] / truth.device_frames - 1) < 0.05
    if found.kind is Kind.SEARCH_POLICER and truth.device_bits is not None:
        words = {"wire": "wire", "frames": "with FCS", "frames-without-fcs": "without FCS"}
        word = words.get(truth.account, "IP packets")
        return word in found.words["accounted"]
    return True


def test_of_truths_drawn_at_random_hardly_a_sentence_is_wrong_and_hardly_one_is_missing() -> None:
    random, right, wrong, missing = seeded(20), Counter[str](), [], Counter[str]()
    for _ in range(150):
        truth = drawn(random)
        run = run_of_searches(truth, random, trials=random.choice([1, 1, 3]))
        about = {size: set[Kind]() for size in SIZES}
        for each in run.findings:
            if each.kind not in LIMIT_OF:
                continue
            if is_right(each, truth):
                right[each.kind] += 1
            else:
                wrong.append((each.kind, truth, each.words["sizes"]))
            for cell in each.cells:
                about[int(cell.split("-")[3])].add(each.kind)
        for size, kinds in about.items():
            limit = truth.limit_of(size)
            missing[limit] += not any(limit in LIMIT_OF[kind] for kind in kinds)
    assert len(wrong) <= 0.02 * sum(right.values()), wrong
    assert sum(missing.values()) <= 0.02 * 150 * len(SIZES), missing
    assert {*right} == {*LIMIT_OF}


@pytest.mark.parametrize("seed", range(8))
def test_a_device_by_frames_is_said_with_its_rate_and_the_line_where_it_is_the_limit(
    seed: int,
) -> None:
    random = seeded(seed)
    rate = random.uniform(0.1, 0.9) * frames_per_s(1e9, 512)
    run = run_of_searches(Truth(device_frames=rate), random)
    kinds = [each.kind for each in run.findings]
    assert kinds == [Kind.SEARCH_FRAME_RATE, Kind.SEARCH_LINE_RATE][: len(kinds)]
    assert run.findings[0].evidence["found_frames_per_s"] == pytest.approx(rate, rel=0.02)


def test_the_documents_own_conclusion() -> None:
    run = run_of_searches(Truth(device_frames=148_800, core_share=0.99), seeded(1))
    frames, line = said(run)
    assert "from 64 to 512 bytes, 148,026/s, with the busiest core of router at 99 %: the" in frames
    assert line.startswith("LL: line rate from 1024 bytes on")


def test_of_hosts_that_are_one_machine_no_core_is_said_to_be_the_devices() -> None:
    truth = Truth(device_frames=148_800, core_share=1.0, one_machine=True)
    frames, _line = said(run_of_searches(truth, seeded(1)))
    assert "router" not in frames


def test_a_device_whose_cores_have_time_left_is_not_said_to_lack_a_cpu() -> None:
    frames, _line = said(run_of_searches(Truth(device_frames=148_800, core_share=0.4), seeded(1)))
    assert "with the busiest core of router at only 40 %" in frames
    assert "CPU is the limit" not in frames


def test_sizes_without_a_rate_are_said_of_these_alone() -> None:
    found = run_of_searches(Truth(device_frames=5000), seeded(1)).findings
    (none,) = [each for each in found if each.kind is Kind.SEARCH_NO_RATE]
    assert none.cells == (cell_of(64).key,)
    assert none.words["sizes"] == "at 64 bytes"


def test_a_sender_too_slow_for_every_rate_is_said_so() -> None:
    run = run_of_searches(Truth(generator_frames=3000), seeded(1), sizes=(64,))
    assert "LL: no rate at 64 bytes: our own sender could not send even the lowest" in said(run)[0]


def test_trials_that_differ_are_told_apart_and_counted() -> None:
    slow = Truth(generator_frames=1e5)
    run = run_of_searches(Truth(device_frames=148_800), seeded(1), trials=3, of_trial={2: slow})
    by_kind = {each.kind: each for each in run.findings}
    assert "(in 8 of 12 trials)" in by_kind[Kind.SEARCH_FRAME_RATE].words["sizes"]
    assert {trial for _, trial in by_kind[Kind.SEARCH_FRAME_RATE].trials} == {1, 3}
    assert {trial for _, trial in by_kind[Kind.SEARCH_GENERATOR_BOUND].trials} == {2}


def test_a_queue_that_grew_is_said_with_how_long() -> None:
    run = run_of_searches(Truth(device_frames=148_800, queues=True), seeded(1))
    (queue,) = [each for each in run.findings if each.kind is Kind.SEARCH_QUEUE]
    assert queue.evidence["queue_ns"] > 2_500_000


def test_what_never_touched_a_wire_or_was_imported_is_not_judged() -> None:
    random, cell = seeded(1), cell_of(64)
    record = searched(Truth(device_frames=1e5), cell, 1, random)
    local = replace(record, values={**record.values, "same_host": True})
    assert run_of(plan_of([cell]), [local]).findings == ()
    assert run_of(plan_of([cell], source="a table"), [record]).findings == ()


def test_a_jump_of_more_than_a_step_is_said_and_the_scatter_of_one_is_not() -> None:
    cell = cell_of(1518)
    record = searched(Truth(device_bits=4e8), cell, 1, seeded(3))
    share = float(str(record.values["line_share"]))
    for lower, expected in ((0.5, 1), (0.0, 0)):
        at = share - lower * share
        tries: dict[str, Value] = {
            "trial_line_share": [at, share, share],
            "trial_duration_s": [1.0, 1.0, 1.0],
            "trial_sent_frames": [10, 10, 10],
            "trial_received_frames": [9, 10, 10],
            "trial_own_drops": [0, 0, 0],
            "trial_queue_ns": [0, 0, 0],
            "trial_verdict": [1, 0, 0],
        }
        jumping = replace(record, values={**record.values, **tries, "monotone": False})
        found = run_of(plan_of([cell]), [jumping]).findings
        assert [each.kind for each in found].count(Kind.SEARCH_NOT_MONOTONE) == expected


@pytest.mark.parametrize(("frames", "expected"), [(0, 0), (7, 1)])
def test_flow_control_is_said_where_pause_frames_were_counted(frames: int, expected: int) -> None:
    record = searched(Truth(), cell_of(64), 1, seeded(1))
    more: dict[str, Value] = {
        "client_pause_frames_received": frames,
        "observed_1_pause_frames_sent": 2 * frames,
    }
    run = run_of(plan_of([cell_of(64)]), [replace(record, values={**record.values, **more})])
    kinds = [each.kind for each in run.findings]
    assert kinds.count(Kind.SEARCH_PAUSED) == expected
    assert any("counted 21 pause frames" in each for each in said(run)) is bool(expected)


def test_buffers_that_were_not_given_as_asked_for_are_said() -> None:
    cell = cell_of(64)
    record = searched(Truth(), cell, 1, seeded(1))
    more: dict[str, Value] = {
        "receiver_receive_buffer_requested_bytes": 4 << 20,
        "receiver_receive_buffer_bytes": 425_984,
        "receiver_receive_buffer_capped": 1,
        "sender_send_buffer_capped": 0,
    }
    run = run_of(plan_of([cell]), [replace(record, values={**record.values, **more})])
    assert (
        "LL: requested socket buffers of 4 MiB were capped at 416 KiB at 64 bytes" in said(run)[0]
    )


def test_a_sender_that_outran_the_line_leaves_no_line_rate() -> None:
    cell = cell_of(64)
    record = searched(Truth(), cell, 1, seeded(1))
    outran: dict[str, Value] = {**record.values, "link_paced": False}
    run = run_of(plan_of([cell]), [replace(record, values=outran)])
    assert run.findings == ()
    told = {**outran, "sender_send_buffer_bytes": 212_992}
    run = run_of(plan_of([cell]), [replace(record, values=told)])
    assert [each.kind for each in run.findings] == [Kind.SEARCH_OUTRUN]
