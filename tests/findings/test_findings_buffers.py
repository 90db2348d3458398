"""Findings report effective socket buffers, their effect and fragmented messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from made_findings import BUFFERS, KIB, LINK, cells_of, flat, joined, measured, of, run_of, stream

from netlab.findings.analysis import Analysis
from netlab.findings.buffers import buffers, fragmented
from netlab.findings.finding import Finding, Group, Kind
from netlab.findings.series import series_of
from netlab.trial.record import Value

# ---- what systems report of buffers --------------------------------------------------------------


@pytest.mark.parametrize("kind", [Kind.SOCKET_BUFFER_CAPPED, Kind.SOCKET_BUFFER_DOUBLED])
def test_capped_and_doubled_socket_buffers_are_reported_with_ends_sizes_and_cells(
    kind: Kind,
) -> None:
    change = "capped" if kind is Kind.SOCKET_BUFFER_CAPPED else "doubled"
    effective: dict[int, dict[str, Value]] = {
        BUFFERS[1]: {f"server_send_buffer_{change}": 1, "server_send_buffer_bytes": 4_000},
        BUFFERS[3]: {f"sender_receive_buffer_{change}": 1, "sender_receive_buffer_bytes": 7_000},
        BUFFERS[4]: {f"client_send_buffer_{change}": 0, "client_send_buffer_bytes": 9_000},
    }
    findings = buffers(series_of(flat(effective=effective)))
    (buffer_finding,) = of(findings, kind)
    assert (buffer_finding.group, buffer_finding.cells) == (
        Group("LL"),
        cells_of((BUFFERS[1], BUFFERS[3])),
    )
    assert buffer_finding.evidence == {
        "least_asked_bytes": BUFFERS[1],
        "most_asked_bytes": BUFFERS[3],
        "most_effective_bytes": 7_000,
    }
    assert buffer_finding.words == {"ends": "server, sender"}
    order = [Kind.SOCKET_BUFFER_CAPPED, Kind.SOCKET_BUFFER_NO_EFFECT, Kind.SOCKET_BUFFER_DOUBLED]
    assert [finding.kind for finding in findings] == [
        entry for entry in order if entry in (kind, order[1])
    ]


def test_a_capped_buffer_without_an_effective_size_is_reported_without_the_size() -> None:
    values: dict[str, Value] = {"sender_send_buffer_capped": 1}
    (finding,) = of(buffers(series_of(flat(values=values))), Kind.SOCKET_BUFFER_CAPPED)
    assert finding.evidence.keys() == {"least_asked_bytes", "most_asked_bytes"}
    assert finding.words == {"ends": "sender"}


def test_capped_buffers_are_reported_for_each_pairing_over_all_its_series() -> None:
    values: dict[str, Value] = {"client_send_buffer_capped": 1}
    runs = (flat(values=values), flat(values=values, pairing="WL"), flat(pairing="LW"))
    small = flat(values=values, pairing="LL", asked=stream(size=64))
    cells = tuple(replace(cell, key=f"64-{cell.key}") for cell in small.plan.cells)
    records = [replace(record, cell=f"64-{record.cell}") for record in small.records]
    again = run_of(replace(small.plan, cells=cells), records)
    findings = of(buffers(joined(*runs, again)), Kind.SOCKET_BUFFER_CAPPED)
    assert [(finding.group.pairing, len(finding.cells)) for finding in findings] == [
        ("LL", 16),
        ("WL", 8),
    ]


def test_a_buffer_is_reported_as_capped_if_one_trial_was_capped() -> None:
    run = measured({size: [94.0, 94.0] for size in BUFFERS})
    records = [
        replace(r, values={**r.values, "receiver_receive_buffer_capped": int(r.trial == 2)})
        for r in run.records
    ]
    (finding,) = of(buffers(series_of(run_of(run.plan, records))), Kind.SOCKET_BUFFER_CAPPED)
    assert finding.words == {"ends": "receiver"}


SAME = {
    f"{end}_{side}_buffer_bytes": 8_000 + at
    for at, (end, side) in enumerate(
        (end, side) for end in ("sender", "receiver") for side in ("send", "receive")
    )
}


def same(effective: Mapping[int, Mapping[str, Value]], **more: Any) -> list[Finding]:
    return of(buffers(series_of(flat(effective=effective, **more))), Kind.SOCKET_BUFFER_SAME)


def test_cells_with_four_equal_effective_buffers_are_reported_as_one_point() -> None:
    (finding,) = same({BUFFERS[1]: SAME, BUFFERS[4]: SAME})
    assert (finding.group, finding.cells) == (
        Group("LL", "TCP", 1500),
        cells_of((BUFFERS[1], BUFFERS[4])),
    )
    assert finding.evidence == {
        "least_asked_bytes": BUFFERS[1],
        "most_asked_bytes": BUFFERS[4],
        "effective_bytes": 8_003,
    }


@pytest.mark.parametrize("name", SAME)
def test_cells_with_one_different_or_unknown_effective_buffer_are_separate_points(
    name: str,
) -> None:
    assert same({BUFFERS[1]: SAME, BUFFERS[4]: {**SAME, name: 1}}) == []
    assert same({BUFFERS[1]: SAME, BUFFERS[4]: {**SAME, name: "8000"}}) == []
    without = {key: value for key, value in SAME.items() if key != name}
    assert same({BUFFERS[1]: without, BUFFERS[4]: without}) == []


def test_trials_with_different_effective_buffers_give_no_equal_buffer_finding() -> None:
    run = measured({size: [94.0, 94.0] for size in BUFFERS}, values=SAME)
    assert len(of(buffers(series_of(run)), Kind.SOCKET_BUFFER_SAME)) == 1
    records = [
        replace(r, values={**r.values, "sender_send_buffer_bytes": r.trial}) for r in run.records
    ]
    assert of(buffers(series_of(run_of(run.plan, records))), Kind.SOCKET_BUFFER_SAME) == []


def test_each_effective_buffer_size_shared_by_two_cells_has_its_own_finding() -> None:
    assert same({BUFFERS[1]: SAME}) == []
    second_size = dict.fromkeys(SAME, 5)
    findings = same(
        {BUFFERS[0]: SAME, BUFFERS[1]: SAME, BUFFERS[2]: second_size, BUFFERS[3]: second_size}
    )
    assert [finding.cells for finding in findings] == [
        cells_of(BUFFERS[:2]),
        cells_of(BUFFERS[2:4]),
    ]


def test_equal_effective_buffers_are_reported_for_each_series_separately() -> None:
    effective_sizes = {BUFFERS[1]: SAME, BUFFERS[4]: SAME}
    runs = [flat(effective=effective_sizes, pairing=pairing) for pairing in ("LL", "WL")]
    findings = of(buffers(joined(*runs)), Kind.SOCKET_BUFFER_SAME)
    assert [finding.group.pairing for finding in findings] == ["LL", "WL"]


# ---- buffers without effect ----------------------------------------------------------------------


def no_effect(figures: Sequence[float | None], **more: Any) -> list[Finding]:
    series = dict(zip(BUFFERS, ([figure] for figure in figures), strict=False))
    return of(buffers(series_of(measured(series, **more))), Kind.SOCKET_BUFFER_NO_EFFECT)


@pytest.mark.parametrize(
    ("figures", "presence"),
    [
        ((100.0, 101.0, 100.0, 100.5), True),
        ((100.0, 101.001, 100.0, 100.5), False),
        ((101.0, 101.0, 101.0, 99.999), False),
        ((100.0, 100.5, 101.0), False),
        ((100.0, 101.0, 100.5, None), False),
        ((100.0, None, 101.0, 100.5, 100.5), True),
        ((100.0, 100.0, 100.0, 100.0), True),
    ],
)
def test_four_buffer_sizes_with_figures_within_1_percent_show_no_effect(
    figures: Sequence[float | None], presence: bool
) -> None:
    assert bool(no_effect(figures)) is presence


def test_a_finding_about_buffers_without_effect_states_the_range_of_buffers_and_figures() -> None:
    (finding,) = no_effect((94.0, 94.1, 94.3, None, 94.2))
    assert (finding.group, finding.cells) == (
        Group("LL", "TCP", 1500),
        cells_of((*BUFFERS[:3], BUFFERS[4])),
    )
    assert finding.evidence == {
        "levels": 4,
        "least": pytest.approx(94.0e6),
        "most": pytest.approx(94.3e6),
        "median": pytest.approx(94.15e6),
        "from_socket_buffer_bytes": BUFFERS[0],
        "to_socket_buffer_bytes": BUFFERS[4],
        "outliers": 0,
    }
    assert finding.words == {"quantity": "throughput_bit_per_s"}


def test_an_outlier_does_not_count_as_an_effect_of_the_buffer_but_a_step_does() -> None:
    (finding,) = no_effect((94.0, 94.0, 50.0, 94.0, 94.0, 94.0, 94.0, 94.0))
    assert (finding.evidence["outliers"], finding.evidence["levels"]) == (1, 7)
    assert cells_of((BUFFERS[2],))[0] not in finding.cells
    assert no_effect((94.0, 94.0, 94.0, 94.0, 94.0, 94.0, 50.0, 50.0)) == []


def test_an_outlier_within_1_percent_counts_as_a_normal_buffer_size() -> None:
    (finding,) = no_effect((94.0, 94.1, 94.0, 94.1, 94.0, 94.1, 94.0, 94.8))
    assert (finding.evidence["outliers"], finding.evidence["levels"]) == (0, 8)


# ---- fragments -----------------------------------------------------------------------------------


def cut(*runs: Analysis, link: Any = LINK) -> tuple[Finding, ...]:
    return tuple(fragmented(joined(*runs), link))


def udp_run(size: int, pairing: str = "LL", **more: Any) -> Analysis:
    settings = stream("UDP", size, **more.pop("asked", {}))
    return measured({16 * KIB: [90.0], 32 * KIB: [90.0]}, pairing=pairing, asked=settings, **more)


def test_a_fragmented_message_size_is_one_finding_for_all_pairings() -> None:
    (finding,) = cut(udp_run(2_953), udp_run(2_953, "WL"))
    assert finding.group == Group(protocol="UDP", message_bytes=2_953)
    sizes = (16 * KIB, 32 * KIB)
    assert finding.cells == cells_of(sizes) + cells_of(sizes, "WL")
    assert finding.evidence == {
        # 2953 + 8 bytes by 1480: two whole ones and a rest of 1 byte.
        "fragments": 3,
        "largest_whole_message_bytes": 1472,
        # 44 full fragments have 44 x 1480 - 8 bytes of payload.
        "best_message_bytes": 65_112,
        "mtu_bytes": 1500,
        "ip_version": 4,
    }


def test_fragmentation_has_separate_findings_for_each_ip_version_and_path_mtu() -> None:
    (six,) = cut(udp_run(1_453, asked={"ip_version": 6}))
    # Of full fragments with a header of 48 bytes less goes over: 94.38 % instead of 94.41 %.
    assert six.evidence["best_message_bytes"] == 1452
    assert (six.evidence["ip_version"], six.evidence["largest_whole_message_bytes"]) == (6, 1452)
    two = {16 * KIB: {"sender_path_mtu_bytes": 1400}, 32 * KIB: {}}
    narrow, wide = cut(udp_run(1_473, effective=two))
    assert narrow.evidence["largest_whole_message_bytes"] == 1372
    assert (narrow.evidence["mtu_bytes"], narrow.cells) == (1400, cells_of([16 * KIB]))
    assert (wide.evidence["mtu_bytes"], wide.cells) == (1500, cells_of([32 * KIB]))


def test_fragmentation_uses_the_narrowest_recorded_path_mtu_even_without_a_link() -> None:
    run = measured({16 * KIB: [90.0, 90.0]}, asked=stream("UDP", 1_400), link=None)
    records = [
        replace(r, values={**r.values, "sender_path_mtu_bytes": 1300 + 50 * r.trial})
        for r in run.records
    ]
    (finding,) = cut(run_of(run.plan, records), link=None)
    assert finding.evidence["mtu_bytes"] == 1350
    odd = [replace(r, values={**r.values, "sender_path_mtu_bytes": "x"}) for r in run.records]
    assert cut(run_of(run.plan, odd), link=None) == ()


def test_cells_without_a_result_and_too_long_messages_have_no_fragmentation_finding() -> None:
    (finding,) = cut(measured({16 * KIB: [None], 32 * KIB: [90.0]}, asked=stream("UDP", 2_000)))
    assert finding.cells == cells_of([32 * KIB])
    assert cut(udp_run(65_508)) == ()
    assert cut(udp_run(1_472), udp_run(1_473, "WL"))[0].cells == cells_of(
        (16 * KIB, 32 * KIB), "WL"
    )


def test_tcp_and_loopback_cells_do_not_hide_a_later_fragmented_cell() -> None:
    loopback = {16 * KIB: {"same_host": True}}
    (finding,) = cut(flat(), udp_run(2_000, "WL", effective=loopback))
    assert finding.cells == cells_of([32 * KIB], "WL")
