"""Findings about payload searches report narrow paths, black holes and the cost of a byte more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from draws import chance, drawn, seeds
from made_findings import run_of
from made_readings import plan_of, planned, result
from made_searches import seeded

from netlab.ethernet import MAX_DATAGRAM_BYTES, ceiling_bit_per_s
from netlab.experiment.records import Value
from netlab.findings.finding import Finding, Kind
from netlab.measurement.sweep import sizes_around
from netlab.report.text.findings import sentence
from netlab.report.text.run_index import RunIndex

KINDS = {
    *(Kind.PAYLOAD_FOUND, Kind.PATH_MTU_SMALLER, Kind.BLACK_HOLE, Kind.FRAGMENTS_LOST),
    Kind.BYTE_MORE,
}


def findings_of(*trials: Mapping[str, Value], **settings: Any) -> list[tuple[Finding, str]]:
    cell = planned("payload_search", **settings)
    records = [
        result(cell, n, {"same_host": False, **values}) for n, values in enumerate(trials, start=1)
    ]
    run = run_of(plan_of([cell], len(trials)), records)
    return [
        (finding, str(sentence(finding, RunIndex(run))))
        for finding in run.findings
        if finding.kind in KINDS
    ]


def way(
    prefix: str, mtu: int, evidence: str, interface: int | None = 1500, **more: Value
) -> dict[str, Value]:
    values: dict[str, Value] = {
        "payload_bytes": mtu - 28,
        "path_mtu_bytes": mtu,
        "path_mtu_evidence": evidence,
        **({} if interface is None else {"interface_mtu_bytes": interface}),
        **more,
    }
    return {prefix + name: value for name, value in values.items()}


def both(mtu: int, evidence: str, interface: int = 1500) -> dict[str, Value]:
    return {**way("", mtu, evidence, interface), **way("to_client_", mtu, evidence, interface)}


def test_equal_payloads_found_in_both_directions_are_one_finding() -> None:
    ((answer, text),) = findings_of(both(1500, "emsgsize"))
    assert answer.evidence == {"payload_message_bytes": 1472, "path_mtu_bytes": 1500}
    whole = "essages of 1472 bytes fill a frame both ways, in packets of 1500 bytes: the sender’s"
    assert whole in text


def test_trials_that_find_different_payloads_are_counted_in_separate_findings() -> None:
    answers = findings_of(both(1500, "emsgsize"), both(1500, "emsgsize"), both(1492, "emsgsize"))
    assert [len(answer.trials) for answer, _ in answers] == [2, 1]
    assert "both ways, in 2 of 3 trials, in packets of 1500 bytes" in answers[0][1]


def test_a_black_hole_finding_names_its_direction_and_the_interface_with_the_mtu() -> None:
    values = {**way("", 1400, "timeout"), **way("to_client_", 1400, "emsgsize", 1400)}
    hole, *answers = findings_of(values)
    assert (hole[0].kind, hole[0].severity) == (Kind.BLACK_HOLE, "warning")
    assert (
        "to the server packets of more than 1400 bytes vanish without an ICMP message to the sender"
        in hole[1]
    )
    assert "the interface of alpha has this MTU" in hole[1]
    assert [answer.kind for answer, _ in answers] == [Kind.PAYLOAD_FOUND, Kind.PAYLOAD_FOUND]


def test_a_black_hole_between_the_hosts_is_reported_without_an_interface() -> None:
    hole, *_ = findings_of({**way("", 1400, "timeout"), **way("to_client_", 1500, "emsgsize")})
    assert "interface" not in hole[1]


@pytest.mark.parametrize("evidence", ["icmp", "dropped"])
def test_a_path_mtu_below_the_interface_mtu_is_reported_with_its_trial(evidence: str) -> None:
    narrow, *_ = findings_of({**way("", 1400, evidence), **way("to_client_", 1500, "emsgsize")})
    assert narrow[0].kind is Kind.PATH_MTU_SMALLER
    assert "carries packets of 1400 bytes, but the sender’s interface sends up to 1500" in narrow[1]
    assert narrow[0].trials == ((narrow[0].cells[0], 1),)


def test_tcp_segments_smaller_than_the_stated_mtu_allows_are_reported() -> None:
    values = {**way("", 1400, "mss", None), **way("to_client_", 1500, "mss", None)}
    narrow, *_ = findings_of(values, protocol="TCP")
    assert "but the matrix states 1500: TCP agreed on this segment size" in narrow[1]


def test_a_payload_that_fills_the_interface_mtu_has_no_path_mtu_warning() -> None:
    for evidence in ("emsgsize", "icmp", "timeout", "mss", "dropped", "protocol"):
        kinds = {finding.kind for finding, _ in findings_of(both(1500, evidence))}
        assert kinds == {Kind.PAYLOAD_FOUND}


def test_lost_fragments_are_reported_except_in_a_black_hole() -> None:
    loss: dict[str, Value] = {"next_passed": False}
    kinds = [finding.kind for finding, _ in findings_of({**both(1500, "emsgsize"), **loss})]
    assert Kind.FRAGMENTS_LOST in kinds
    kinds = [finding.kind for finding, _ in findings_of({**both(1400, "timeout"), **loss})]
    assert Kind.FRAGMENTS_LOST not in kinds


def test_a_payload_search_over_loopback_has_no_finding() -> None:
    assert findings_of({**both(1500, "icmp"), "same_host": True}) == []


def swept(scatter: float, seed: int, mtu: int = 1500) -> dict[str, Value]:
    """A sweep limited by the cable, with scatter downwards."""
    random = seeded(seed)
    sizes = [size for size in sizes_around(mtu - 28, "UDP", 4) if size <= MAX_DATAGRAM_BYTES[4]]
    rates = [
        ceiling_bit_per_s(1e8, "UDP", size, mtu) * (1 - scatter * random.random()) for size in sizes
    ]
    swept: dict[str, Value] = {"sweep_message_bytes": sizes, "sweep_throughput_bit_per_s": rates}
    return {**both(mtu, "emsgsize"), **swept}


def test_the_cost_of_one_byte_beyond_a_full_frame_is_reported_within_2_percent() -> None:
    reported, drawn_seeds = 0, seeds(8, 100)
    for seed in drawn_seeds:
        for scatter in (0.001, 0.005, 0.02):
            for finding, _ in findings_of(swept(scatter, seed)):
                if finding.kind is Kind.BYTE_MORE:
                    reported += 1
                    assert finding.evidence["cost_share"] == pytest.approx(0.051, abs=0.02)
                    assert finding.evidence["wire_cost_share"] == pytest.approx(0.0512, abs=0.001)
    assert reported >= 2 * len(drawn_seeds)  # all of the first two


def test_one_byte_beyond_a_full_frame_without_a_cost_is_hardly_ever_reported() -> None:
    random, number, wrong = chance(7), drawn(25, 400), 0
    for _ in range(number):
        values = swept(0.0, 1)
        sizes = values["sweep_message_bytes"]
        assert isinstance(sizes, list)
        values["sweep_throughput_bit_per_s"] = [9e7 * random.uniform(0.97, 1) for _ in sizes]
        wrong += Kind.BYTE_MORE in [finding.kind for finding, _ in findings_of(values)]
    assert wrong <= number // 25


def test_one_byte_beyond_a_full_frame_has_no_finding_over_tcp() -> None:
    kinds = [finding.kind for finding, _ in findings_of(swept(0.001, 1), protocol="TCP")]
    assert Kind.BYTE_MORE not in kinds
