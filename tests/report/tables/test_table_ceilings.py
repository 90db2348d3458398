"""The report's tables give the wire ceiling, except for pairings within one host."""

from __future__ import annotations

from typing import Any

import pytest
from made_grids import LINK, blank, reading, row_of, table_of, texts

from netlab.ethernet import Link
from netlab.report.tables.tables import overviews
from netlab.results.ceilings import ceiling_of
from netlab.results.layout import TableColumn, lay_out


def test_each_pairing_has_a_mean_of_its_own_and_no_mean_covers_all_pairings() -> None:
    layout = lay_out(
        (
            reading(90, pairing="LL"),
            reading(80, pairing="WL"),
            reading(4393, pairing="WW", same_host=True),
        )
    )
    table = overviews(layout)[0]
    assert [row.label for row in table.lines] == ["LL", "WL", "WW (same host)"]
    means = [row.places[0] for row in table.lines]
    assert [(cell.value, cell.n) for cell in means] == [(90e6, 1), (80e6, 1), (4393e6, 1)]


def test_trials_within_one_host_have_no_wire_ceiling() -> None:
    table = table_of(reading(4393, same_host=True), link=LINK)
    assert "wire ceiling" not in [row.label for row in table.lines]
    assert table.pairing == "LL (same host)"


def test_the_wire_ceiling_and_the_mean_as_its_share_are_listed_below_the_means() -> None:
    table = table_of(reading(94.1, flow={"tcp_timestamps": True}), link=LINK)
    assert texts(table, "wire ceiling") == ["94.15"]
    assert texts(table, "mean / ceiling, %") == ["99.95"]
    assert not table.footnotes
    without = table_of(reading(94.1, flow={"tcp_timestamps": False}), link=LINK)
    assert texts(without, "wire ceiling") == ["94.93"]


def test_unrecorded_tcp_options_give_the_higher_ceiling_with_a_footnote() -> None:
    table = table_of(reading(94.1), link=LINK)
    assert texts(table, "wire ceiling") == ["94.93"]
    assert "With them the ceiling is 94.15 Mbit/s" in table.footnotes[0][1]


def test_mss_vlan_tag_and_ip_version_change_the_wire_ceiling() -> None:
    def ceiling(link: Link, flow: dict[str, Any], **settings: Any) -> float:
        grid = lay_out((reading(flow={"tcp_timestamps": True, **flow}, **settings),))[0]
        column = TableColumn("TCP", 64)
        ceiling = ceiling_of(column, grid.column(column), link)
        assert ceiling is not None
        return ceiling.highest_bit_per_s

    assert ceiling(LINK, {"mss_bytes": 1448}) == pytest.approx(94.148e6, abs=500)
    assert ceiling(LINK, {"mss_bytes": 536}) == pytest.approx(1e8 * 536 / 626)
    assert ceiling(LINK, {"mss_bytes": 65483}) == pytest.approx(94.148e6, abs=500)
    assert ceiling(Link(1e8, 1500, vlan=True), {}) == pytest.approx(93.904e6, abs=500)
    assert ceiling(LINK, {}, ip_version=6) == pytest.approx(92.848e6, abs=500)


def test_a_message_too_long_for_the_protocol_has_a_reason_and_no_ceiling() -> None:
    table = table_of(
        blank("impossible", "message-too-long", protocol="UDP", message=65536),
        reading(),
        link=LINK,
    )
    assert texts(table, "wire ceiling") == ["94.93", ""]
    assert "cannot carry such a message" in " ".join(text for _, text in table.footnotes)


@pytest.mark.parametrize(
    ("over_percent", "imported", "flagged"),
    [(0.076, False, False), (0.12, False, True), (0.12, True, False), (0.25, True, True)],
)
def test_only_figures_beyond_clock_error_are_marked_as_above_the_ceiling(
    over_percent: float, imported: bool, flagged: bool
) -> None:
    exact = 100 * 1500 / 1624
    cell = reading(exact * (1 + over_percent / 100), protocol="UDP", message=1500)
    table = table_of(cell, link=LINK, imported=imported)
    assert any("above the wire ceiling" in text for _, text in table.footnotes) is flagged
    assert bool(row_of(table, "16 KiB").places[0].notes) is flagged


def test_a_table_without_a_known_link_has_no_ceiling() -> None:
    assert [row.kind for row in table_of(reading()).lines] == ["value", "mean", "median"]
