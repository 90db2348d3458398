"""Figures, cells and trials of findings about a mesh follow from shares that are given by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pytest
from made_meshes import CEILINGS, HOSTS, MadeMesh
from made_samples import changed

from netlab.ethernet import Link
from netlab.findings.derived import StreamSample
from netlab.findings.finding import Group, Kind, finding
from netlab.findings.mesh import _as_link, _is_alike, columns_of, slow_in_mesh
from netlab.stats.mesh import MeshVerdict, MeshWay

LINK = Link(1e8, 1500)
A, B, C = THREE = HOSTS[:3]
FULL = CEILINGS["TCP"]


def column(
    shares: Mapping[MeshWay, float], protocol: str = "TCP", size: int = 1448, every: float = 1.0
) -> tuple[StreamSample, ...]:
    """Two equal trials of each pair of three hosts."""
    mesh = MadeMesh(THREE, pairs=shares, every=every, scatter=0, trials=2, protocols=(protocol,))
    return tuple(
        changed(sample, cell=f"{sample.cell}-{size}", message_bytes=size)
        for sample in mesh.samples()
    )


def cells_of(*ways: str, size: int = 1448) -> tuple[str, ...]:
    """Cells of senders and receivers such as ``ab``."""
    host = dict(zip("abc", THREE, strict=True))
    return tuple(f"{host[way[1]]}+{host[way[0]]}-TCP-{size}" for way in ways)


def twice(cells: Sequence[str]) -> tuple[tuple[str, int], ...]:
    return tuple((cell, trial) for cell in cells for trial in (1, 2))


def test_a_slow_pair_is_expected_to_reach_the_lower_of_the_most_that_its_ends_reach() -> None:
    # In the faster direction, a sends to c at 0.985, and c sends to b at 0.99.
    shares = {(A, B): 0.3, (B, A): 0.2, (A, C): 0.985, (C, B): 0.99, (B, C): 0.995}
    samples = [*column(shares), *column({}, size=200), *column({}, protocol="UDP")]
    (result,) = slow_in_mesh(samples, (), LINK)
    assert (result.kind, result.group) == (Kind.MESH_LIMIT_PAIR, Group(f"{A}+{B}", "TCP", 1448))
    assert result.evidence == pytest.approx(
        {
            "throughput_bit_per_s": 0.3 * FULL,
            "expected_bit_per_s": 0.985 * FULL,
            "ceiling_share": 0.3,
        }
    )
    assert result.words == {"one": A, "other": B}
    assert result.cells == cells_of("ab", "ba")
    assert result.trials == twice(result.cells)


def test_two_slow_pairs_have_one_finding_each() -> None:
    mesh = MadeMesh(HOSTS[:4], pairs={(A, B): 0.3, (C, HOSTS[3]): 0.4}, scatter=0)
    results = slow_in_mesh(mesh.samples(), (), LINK)
    assert [result.kind for result in results] == [Kind.MESH_LIMIT_PAIR] * 2
    assert [result.group.pairing for result in results] == [f"{A}+{B}", f"{C}+{HOSTS[3]}"]
    assert results[0].words == {"sending": A, "receiving": B}


def test_a_slow_host_has_the_most_that_it_reaches_each_way_and_the_median_of_other_hosts() -> None:
    slow = {(C, A): 0.2, (C, B): 0.197}
    (result,) = slow_in_mesh(column(slow | {(A, C): 0.995, (B, C): 0.993}), (), LINK)
    assert (result.kind, result.group) == (Kind.MESH_LIMIT_HOST, Group(host=C))
    assert result.evidence == pytest.approx(
        {
            "sends_at_most_bit_per_s": 0.2 * FULL,
            "receives_bit_per_s": 0.995 * FULL,
            "others_bit_per_s": FULL,
            "ceiling_share": 0.2,
        }
    )
    assert result.words == {"one_peer": A, "other_peer": B}
    assert result.cells == cells_of("ca", "cb")
    assert result.trials == twice(result.cells)


def test_a_slow_host_has_the_rate_of_a_slower_link_only_if_the_link_is_stated() -> None:
    samples = column(dict.fromkeys([(C, A), (C, B), (A, C), (B, C)], 0.2))
    figures = {"both_ways_bit_per_s": 0.2 * FULL, "others_bit_per_s": FULL, "ceiling_share": 0.2}
    (result,) = slow_in_mesh(samples, (), None)
    assert result.evidence == pytest.approx(figures)
    (result,) = slow_in_mesh(samples, (), LINK)
    rates = {"link_rate_bit_per_s": 1e8, "as_link_rate_bit_per_s": 2e7}
    assert result.evidence == pytest.approx(figures | rates)


def test_a_slow_mesh_has_the_figures_of_its_fastest_column_and_the_cells_of_all() -> None:
    samples = column({(A, B): 0.197}, size=1000, every=0.199)
    samples += column({(A, B): 0.198}, every=0.2)
    (result,) = slow_in_mesh(samples, (), LINK)
    assert (result.kind, result.group, result.words) == (Kind.MESH_LIMIT_MESH, Group(), {})
    assert result.evidence == pytest.approx(
        {
            "pairs": 3,
            "throughput_bit_per_s": 0.2 * FULL,
            "least_bit_per_s": 0.198 * FULL,
            "most_bit_per_s": 0.2 * FULL,
            "ceiling_share": 0.2,
            "link_rate_bit_per_s": 1e8,
        }
    )
    ways = ("ab", "ac", "ba", "bc", "ca", "cb")
    assert result.cells == cells_of(*ways, size=1000) + cells_of(*ways)
    assert result.trials == twice(result.cells)
    unknown = [
        changed(sample, ceiling_bit_per_s=None) if sample.sender.host == A else sample
        for sample in samples
    ]
    assert slow_in_mesh(unknown, (), LINK) == ()


def test_a_mesh_is_not_slow_if_half_of_its_trials_have_a_limit_of_a_host() -> None:
    samples = column({}, every=0.5)
    for ways, kinds in ((("ab", "bc"), [Kind.MESH_LIMIT_MESH]), (("ab", "bc", "ca"), [])):
        limited = [finding(Kind.CPU_BOUND_SENDER, Group(), cells_of(*ways))]
        assert [entry.kind for entry in slow_in_mesh(samples, limited, LINK)] == kinds


def test_a_mesh_that_reaches_98_percent_of_the_ceiling_is_not_slow() -> None:
    for share, kinds in ((0.97, [Kind.MESH_LIMIT_MESH]), (0.98, [])):
        results = slow_in_mesh(column({}, every=share), (), LINK)
        assert [entry.kind for entry in results] == kinds


def test_a_mesh_that_sends_both_ways_at_once_and_reaches_96_percent_is_not_slow() -> None:
    for share, kinds in ((0.95, [Kind.MESH_LIMIT_MESH]), (0.965, [])):
        samples = [changed(sample, flow="to server") for sample in column({}, every=share)]
        assert [entry.kind for entry in slow_in_mesh(samples, (), LINK)] == kinds


def test_pairs_are_alike_if_their_scatter_is_at_most_their_distance_from_the_ceiling() -> None:
    def verdict(margin: float) -> MeshVerdict:
        return MeshVerdict(
            named=(),
            margin=margin,
            slow_senders=frozenset(),
            slow_receivers=frozenset(),
            strays={},
            undecided={},
        )

    distance = -math.log(0.9)
    assert _is_alike(verdict(distance), 0.9, 0.9)
    assert not _is_alike(verdict(1.001 * distance), 0.9, 0.9)
    assert not _is_alike(verdict(distance), 0.8, 0.9), "further from the fastest than the scatter"


def test_a_host_has_a_slow_link_unless_it_reaches_over_5_percent_more_in_another_column() -> None:
    def is_link(highest: float) -> bool:
        samples = [
            changed(sample, ceiling_bit_per_s=1.0, throughput_bit_per_s=highest)
            for sample in column({})
        ]
        return bool(_as_link(C, 0.2, columns_of(samples), LINK))

    assert is_link(1.05 * 0.2)
    assert not is_link(1.051 * 0.2)
