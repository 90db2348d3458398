"""Findings about rate searches name what limited the highest rate."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import draws
import pytest
from made_findings import plan_of, run_of
from made_searches import SIZES, Truth, cell_of, run_of_searches, searched, seeded

from netlab.ethernet import frames_per_s
from netlab.findings.analysis import Analysis
from netlab.findings.finding import Finding, Group, Kind
from netlab.findings.search_limits import groups_of
from netlab.report.text.findings import RunIndex, sentence
from netlab.trial.record import Value

LIMIT_OF = {
    Kind.SEARCH_LIMIT_FRAME_RATE: {"frames"},
    Kind.SEARCH_LIMIT_BIT_RATE: {"bits"},
    Kind.SEARCH_LIMIT_DEVICE: {"frames", "bits"},
    Kind.SEARCH_LIMIT_LINE_RATE: {"line"},
    Kind.SEARCH_LIMIT_SENDER: {"generator"},
    Kind.SEARCH_LIMIT_RECEIVER: {"receiver"},
}
"""Kind → the true limits for which it is right."""
AT_THE_EDGE = 0.012
"""If two limits differ by less than this share of the line rate, either finding is right."""


def sentences_of(run: Analysis) -> list[str]:
    return [str(sentence(finding, RunIndex(run))) for finding in run.findings]


def random_truth(random: Random) -> Truth:
    """A device limited by frames or bits, a sender and a receiver, each with a limit or none."""
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
    """Whether one of these limits is the lowest or near the lowest."""
    line = frames_per_s(truth.line_bit_per_s, size)
    limits = {**truth.limits(size), "line": line}
    least = min(limits.values())
    near = {name for name, limit in limits.items() if limit <= least + AT_THE_EDGE * line}
    return bool(near & names)


def is_right(finding: Finding, truth: Truth) -> bool:
    """Whether the finding is right for each of its sizes, and in its figure."""
    sizes = [int(cell.split("-")[3]) for cell in finding.cells]
    if not all(is_near(truth, size, LIMIT_OF[finding.kind]) for size in sizes):
        return False
    if finding.kind is Kind.SEARCH_LIMIT_FRAME_RATE and truth.device_frames is not None:
        return abs(finding.evidence["found_frames_per_s"] / truth.device_frames - 1) < 0.05
    if finding.kind is Kind.SEARCH_LIMIT_BIT_RATE and truth.device_bits is not None:
        words = {"wire": "wire", "frames": "with FCS", "frames-without-fcs": "without FCS"}
        word = words.get(truth.account, "IP packets")
        return word in finding.words["accounted"]
    return True


def test_for_random_devices_at_most_2_percent_of_search_findings_are_wrong_or_missing() -> None:
    random, number = draws.chance(20), draws.drawn(40, 400)
    right, wrong, misses = Counter[str](), [], Counter[str]()
    for _ in range(number):
        truth = random_truth(random)
        run = run_of_searches(truth, random, trials=random.choice([1, 1, 3]))
        about = {size: set[Kind]() for size in SIZES}
        for finding in run.findings:
            if finding.kind not in LIMIT_OF:
                continue
            if is_right(finding, truth):
                right[finding.kind] += 1
            else:
                wrong.append((finding.kind, truth, finding.words["sizes"]))
            for cell in finding.cells:
                about[int(cell.split("-")[3])].add(finding.kind)
        for size, kinds in about.items():
            limit = truth.limit_of(size)
            misses[limit] += not any(limit in LIMIT_OF[kind] for kind in kinds)
    assert len(wrong) <= 0.02 * sum(right.values()), wrong
    assert sum(misses.values()) <= 0.02 * number * len(SIZES), misses
    assert {*right} == {*LIMIT_OF}


@pytest.mark.parametrize("seed", range(8))
def test_a_device_limited_by_frames_is_reported_with_its_frame_rate(
    seed: int,
) -> None:
    random = seeded(seed)
    rate = random.uniform(0.1, 0.9) * frames_per_s(1e9, 512)
    run = run_of_searches(Truth(device_frames=rate), random)
    kinds = [finding.kind for finding in run.findings]
    assert kinds == [Kind.SEARCH_LIMIT_FRAME_RATE, Kind.SEARCH_LIMIT_LINE_RATE][: len(kinds)]
    assert run.findings[0].evidence["found_frames_per_s"] == pytest.approx(rate, rel=0.02)


def test_a_router_at_full_cpu_is_reported_with_its_frame_rate_and_busiest_core() -> None:
    run = run_of_searches(Truth(device_frames=148_800, core_share=0.99), seeded(1))
    frames, line = sentences_of(run)
    assert "from 64 to 512 bytes, 148,026/s, with the busiest core of router at 99 %: the" in frames
    assert line.startswith("LL: line rate from 1024 bytes upwards")


def test_with_all_hosts_on_one_machine_no_busy_core_is_attributed_to_the_device() -> None:
    truth = Truth(device_frames=148_800, core_share=1.0, one_machine=True)
    frames, _line = sentences_of(run_of_searches(truth, seeded(1)))
    assert "router" not in frames


def test_a_device_with_idle_cores_is_not_reported_as_limited_by_its_cpu() -> None:
    frames, _line = sentences_of(
        run_of_searches(Truth(device_frames=148_800, core_share=0.4), seeded(1))
    )
    assert "with the busiest core of router at only 40 %" in frames
    assert "CPU is the limit" not in frames


def test_message_sizes_without_a_loss_free_rate_have_a_separate_finding() -> None:
    findings = run_of_searches(Truth(device_frames=5000), seeded(1)).findings
    (without_rate,) = [finding for finding in findings if finding.kind is Kind.SEARCH_LIMIT_NONE]
    assert without_rate.cells == (cell_of(64).key,)
    assert without_rate.words["sizes"] == "at 64 bytes"


def test_a_sender_too_slow_for_the_lowest_rate_is_reported() -> None:
    run = run_of_searches(Truth(generator_frames=3000), seeded(1), sizes=(64,))
    assert (
        "LL: no rate at 64 bytes: our own sender could not send even the lowest"
        in sentences_of(run)[0]
    )


def test_search_trials_with_different_limits_are_counted_in_separate_findings() -> None:
    slow = Truth(generator_frames=1e5)
    run = run_of_searches(Truth(device_frames=148_800), seeded(1), trials=3, of_trial={2: slow})
    by_kind = {finding.kind: finding for finding in run.findings}
    assert "(in 8 of 12 trials)" in by_kind[Kind.SEARCH_LIMIT_FRAME_RATE].words["sizes"]
    assert {trial for _, trial in by_kind[Kind.SEARCH_LIMIT_FRAME_RATE].trials} == {1, 3}
    assert {trial for _, trial in by_kind[Kind.SEARCH_LIMIT_SENDER].trials} == {2}


def test_a_growing_queue_in_a_rate_search_is_reported_with_its_delay() -> None:
    run = run_of_searches(Truth(device_frames=148_800, queues=True), seeded(1))
    (queue,) = [finding for finding in run.findings if finding.kind is Kind.SEARCH_LIMIT_QUEUE]
    assert queue.evidence["queue_ns"] > 2_500_000


def test_groups_of_searches_have_the_settings_that_differ_with_a_list_as_its_text() -> None:
    cells = [cell_of(64, streams=n, cores=[0, n]) for n in (1, 2)]
    records = [searched(Truth(), cell, 1, seeded(1)) for cell in cells]
    assert [each.group for each in groups_of(run_of(plan_of(cells), records))] == [
        Group("LL", conditions=(("streams", 1), ("cores", "[0, 1]"))),
        Group("LL", conditions=(("streams", 2), ("cores", "[0, 2]"))),
    ]


def test_searches_within_one_host_and_imported_searches_have_no_finding() -> None:
    random, cell = seeded(1), cell_of(64)
    record = searched(Truth(device_frames=1e5), cell, 1, random)
    local = replace(record, values={**record.values, "same_host": True})
    assert run_of(plan_of([cell]), [local]).findings == ()
    assert run_of(plan_of([cell], source="a table"), [record]).findings == ()


def test_a_search_with_loss_far_below_its_result_is_reported_as_not_monotone() -> None:
    cell = cell_of(1518)
    record = searched(Truth(device_bits=4e8), cell, 1, seeded(3))
    share = float(str(record.values["line_share"]))
    for lower, finding_count in ((0.5, 1), (0.0, 0)):
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
        findings = run_of(plan_of([cell]), [jumping]).findings
        assert [finding.kind for finding in findings].count(
            Kind.SEARCH_DOUBT_NOT_MONOTONE
        ) == finding_count


@pytest.mark.parametrize(("frames", "finding_count"), [(0, 0), (7, 1)])
def test_flow_control_is_reported_if_pause_frames_were_counted(
    frames: int, finding_count: int
) -> None:
    record = searched(Truth(), cell_of(64), 1, seeded(1))
    more: dict[str, Value] = {
        "client_pause_frames_received": frames,
        "observed_1_pause_frames_sent": 2 * frames,
    }
    run = run_of(plan_of([cell_of(64)]), [replace(record, values={**record.values, **more})])
    kinds = [finding.kind for finding in run.findings]
    assert kinds.count(Kind.SEARCH_DOUBT_PAUSED) == finding_count
    assert any("counted 21 pause frames" in text for text in sentences_of(run)) is bool(
        finding_count
    )


def test_socket_buffers_smaller_than_requested_are_reported_for_a_search() -> None:
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
        "LL: requested socket buffers of 4 MiB were capped at 416 KiB at 64 bytes"
        in sentences_of(run)[0]
    )


def test_a_sender_faster_than_the_line_rate_gives_no_line_rate_finding() -> None:
    cell = cell_of(64)
    record = searched(Truth(), cell, 1, seeded(1))
    outran: dict[str, Value] = {**record.values, "link_paced": False}
    run = run_of(plan_of([cell]), [replace(record, values=outran)])
    assert run.findings == ()
    values = {**outran, "sender_send_buffer_bytes": 212_992}
    run = run_of(plan_of([cell]), [replace(record, values=values)])
    assert [finding.kind for finding in run.findings] == [Kind.SEARCH_DOUBT_OUTRUN]
