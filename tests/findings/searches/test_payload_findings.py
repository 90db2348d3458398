"""Findings about payload searches report narrow paths, black holes and the cost of a byte more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

import pytest
from draws import chance, drawn, seeds
from made_findings import LINK, run_of
from made_readings import plan_of, planned, result
from made_searches import seeded

from netlab.ethernet import MAX_DATAGRAM_BYTES, Link, ceiling_bit_per_s
from netlab.findings.analysis import Analysis
from netlab.findings.finding import Finding, Group, Kind, finding
from netlab.findings.search_more import byte_more, group_of_payload, payloads, way_of
from netlab.measurement.payload_search import sizes_around
from netlab.report.text.findings import RunIndex, sentence
from netlab.trial.record import Value

KINDS = {
    *(
        Kind.PAYLOAD_FOUND,
        Kind.MTU_MISMATCH_REPORTED,
        Kind.MTU_MISMATCH_BLACK_HOLE,
        Kind.FRAGMENTS_LOST,
    ),
    Kind.BYTE_MORE,
}


def searched(*trials: Mapping[str, Value], **settings: Any) -> Analysis:
    return cells_searched((settings, trials))


def cells_searched(*cells: tuple[dict[str, Any], Sequence[Mapping[str, Value]]]) -> Analysis:
    """A run of cells: the settings of each, and the values of its trials."""
    searches = [(planned("payload_search", **settings), trials) for settings, trials in cells]
    records = [
        result(cell, n, {"same_host": False, **values})
        for cell, trials in searches
        for n, values in enumerate(trials, start=1)
    ]
    return run_of(plan_of([cell for cell, _ in searches], len(cells[0][1])), records)


def findings_of(*trials: Mapping[str, Value], **settings: Any) -> list[tuple[Finding, str]]:
    run = searched(*trials, **settings)
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
    assert (hole[0].kind, hole[0].severity) == (Kind.MTU_MISMATCH_BLACK_HOLE, "warning")
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
    assert narrow[0].kind is Kind.MTU_MISMATCH_REPORTED
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


@pytest.mark.parametrize("link", [LINK, None])
def test_findings_about_payloads_have_the_figures_trials_and_host_of_their_direction(
    link: Link | None,
) -> None:
    to_server = way("", 1396, "emsgsize", 1396)
    # 1400 bytes: the client's interface, and 4 bytes for a tag
    run = searched(
        {**to_server, "next_passed": False}, {**to_server, **way("to_client_", 1400, "icmp")}
    )
    group, cell = Group("LL", "UDP", conditions=(("ip_version", 4),)), run.plan.cells[0].key
    refused = "the sender’s own system refuses longer packets"
    icmp = "a router reported it to the sender (ICMP)"
    whole, short = (
        {"payload_message_bytes": mtu - 28, "path_mtu_bytes": mtu} for mtu in (1396, 1400)
    )
    narrow = {
        **short,
        "interface_mtu_bytes": 1500,
        "link_mtu_bytes": link.mtu_bytes if link else None,
    }
    first, second = (cell, 1), (cell, 2)
    once = {"way": "to the client, in 1 of 2 trials", "known_by": icmp}
    twice = {"way": "to the server, in 2 of 2 trials", "known_by": refused}
    lost = {"way": "to the server, in 1 of 2 trials"}
    at_client = {**once, "narrow_host": "beta"}
    assert list(payloads(run, link)) == [
        finding(Kind.PAYLOAD_FOUND, group, (cell,), whole, twice, (first, second)),
        finding(Kind.PAYLOAD_FOUND, group, (cell,), short, once, (second,)),
        finding(Kind.FRAGMENTS_LOST, group, (cell,), {"next_message_bytes": 1369}, lost, (first,)),
        finding(Kind.MTU_MISMATCH_REPORTED, group, (cell,), narrow, at_client, (second,)),
    ]


def test_payload_searches_are_grouped_by_pairing_protocol_and_ip_version() -> None:
    record = result(planned("payload_search", protocol="TCP", ip_version=6), 1, {})
    assert group_of_payload(record) == Group("LL", "TCP", conditions=(("ip_version", 6),))
    assert group_of_payload(replace(record, settings={})) == Group("LL")


def test_a_direction_has_the_values_that_its_trial_recorded_and_no_others() -> None:
    values = {**way("", 1400, "icmp", lost_probes=2), "to_client_interface_mtu_bytes": 9000}
    cell = planned("payload_search")
    names = ("trial", "payload_bytes", "path_mtu_bytes", "evidence")
    shown = attrgetter(*names, "interface_mtu_bytes", "other_mtu_bytes")
    assert shown(way_of(result(cell, 3, values), "")) == (3, 1372, 1400, "icmp", 1500, 9000)
    bare = way_of(result(cell, 3, {"payload_bytes": 1372}), "")
    assert shown(bare) == (3, 1372, None, None, None, None)


def test_a_payload_search_over_loopback_has_no_finding() -> None:
    assert findings_of({**both(1500, "icmp"), "same_host": True}) == []


def swept(scatter: float, seed: int, mtu: int = 1500) -> dict[str, Value]:
    """A sweep limited by the cable, with scatter downwards."""
    random = seeded(seed)
    sizes = [size for size in sizes_around(mtu - 28, "UDP", 4) if size <= MAX_DATAGRAM_BYTES[4]]
    rates = [
        ceiling_bit_per_s(Link(1e8, mtu), "UDP", size, mtu) * (1 - scatter * random.random())
        for size in sizes
    ]
    swept: dict[str, Value] = {"sweep_message_bytes": sizes, "sweep_throughput_bit_per_s": rates}
    return {**both(mtu, "emsgsize"), **swept}


def test_the_cost_of_one_byte_beyond_a_full_frame_is_reported_within_2_percent() -> None:
    reported, drawn_seeds = 0, seeds(8, 100)
    for seed in drawn_seeds:
        for scatter in (0.001, 0.005, 0.02):
            for cost, _ in findings_of(swept(scatter, seed)):
                if cost.kind is Kind.BYTE_MORE:
                    reported += 1
                    assert cost.evidence["cost_share"] == pytest.approx(0.051, abs=0.02)
                    assert cost.evidence["wire_cost_share"] == pytest.approx(0.0512, abs=0.001)
    assert reported >= 2 * len(drawn_seeds)  # all of the first two


def around(
    below: Sequence[float], above: Sequence[float], payload_bytes: int = 1472
) -> dict[str, Value]:
    """A sweep over two sizes below the payload, the payload and two above it, in Mbit/s."""
    sizes: list[int] = [payload_bytes + step for step in (-2, -1, 0, 1, 2)]
    rates: list[float] = [1e6 * rate for rate in (*below, *above)]
    more: dict[str, Value] = {"sweep_message_bytes": sizes, "sweep_throughput_bit_per_s": rates}
    return {**both(1500, "emsgsize"), "payload_bytes": payload_bytes, **more}


COSTLY = around((90, 91, 92), (80, 82))


def test_the_cost_of_one_byte_more_is_the_median_of_the_trials_that_show_it() -> None:
    run = searched(COSTLY, around((90, 90, 90), (90, 90)), around((93, 95, 94), (85, 83)))
    group, cell = Group("LL", "UDP", conditions=(("ip_version", 4),)), run.plan.cells[0].key
    (cost,) = byte_more(run, LINK)
    trials = ((cell, 1), (cell, 3))
    words = {"in_trials": "in 2 of 3 trials"}
    assert replace(cost, evidence={}) == finding(
        Kind.BYTE_MORE, group, (cell,), words=words, trials=trials
    )
    assert cost.evidence == pytest.approx(
        {
            "payload_message_bytes": 1472,
            "next_message_bytes": 1473,
            "whole_bit_per_s": 92.5e6,  # of 91 and 94
            "next_bit_per_s": 82.5e6,  # of 81 and 84
            "cost_share": 10 / 92.5,
            # a frame of 1500 + 38 bytes; the same and one of 46 + 38 bytes
            "wire_cost_share": 1 - (1473 / (1538 + 84)) / (1472 / 1538),
        }
    )


def test_a_cell_without_a_cost_of_one_byte_more_does_not_hide_that_of_the_next_cell() -> None:
    free, costly = around((90, 90, 90), (90, 90)), around((90, 91, 92), (80, 82), 1452)
    run = cells_searched(({"ip_version": 4}, [free]), ({"ip_version": 6}, [costly]))
    assert [cost.cells for cost in byte_more(run, LINK)] == [(run.plan.cells[1].key,)]


def test_the_cost_of_one_byte_more_on_the_wire_counts_tags_and_headers_of_ipv6() -> None:
    trial = around((900, 900, 900), (800, 800), 1500 - 48)
    (cost,) = byte_more(searched(trial, trial, ip_version=6), Link(1e9, 1500, vlan=True))
    # a frame of 1500 + 42 bytes; fragments of 48 + 1448 and 48 + 13 bytes, in frames 42 longer
    wire = 1 - (1453 / (1538 + 103)) / (1452 / 1542)
    assert cost.evidence["wire_cost_share"] == pytest.approx(wire)
    assert cost.words == {}


def test_the_cost_of_one_byte_more_on_the_wire_is_absent_without_a_link_or_path_mtu() -> None:
    no_mtu = {name: value for name, value in COSTLY.items() if name != "path_mtu_bytes"}
    for link, *trials in ((None, COSTLY), (LINK, no_mtu), (LINK, {}, COSTLY, COSTLY)):
        (cost,) = byte_more(searched(*trials), link)
        assert cost.evidence["cost_share"] == pytest.approx(10 / 91)
        assert "wire_cost_share" not in cost.evidence


@pytest.mark.parametrize(
    ("below", "above", "reported"),
    [
        ((100, 100, 100), (98, 98), True),
        ((100, 100, 100), (99, 99), False),
        ((100, 100, 100), (99.5, 99.5), False),
        ((100, 100, 96), (91, 91), True),
        ((100, 100, 96), (92, 92), False),
        ((100, 100, 100), (94, 90), False),
    ],
)
def test_a_cost_of_one_byte_more_exceeds_1_percent_and_twice_the_spread_of_each_side(
    below: Sequence[float], above: Sequence[float], reported: bool
) -> None:
    assert len(list(byte_more(searched(around(below, above)), LINK))) == reported


def test_a_sweep_that_lacks_a_size_around_the_payload_shows_no_cost_of_one_byte_more() -> None:
    columns = ("sweep_message_bytes", "sweep_throughput_bit_per_s")
    sizes, rates = ([*value] for name in columns if isinstance(value := COSTLY[name], list))
    lacking: list[dict[str, Value]] = [
        {name: value for name, value in COSTLY.items() if name != absent}
        for absent in ("payload_bytes", *columns)
    ]
    for at in range(5):
        kept = [[*column[:at], *column[at + 1 :]] for column in (sizes, rates)]
        lacking.append({**COSTLY, columns[0]: kept[0], columns[1]: kept[1]})
    lacking.append({**COSTLY, columns[1]: rates[:-1]})
    assert len(list(byte_more(searched(COSTLY), LINK))) == 1
    assert [list(byte_more(searched(values), LINK)) for values in lacking] == [[]] * 9


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
