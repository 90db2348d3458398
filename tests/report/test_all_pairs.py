"""Runs of named pairs have tables, heat maps and comparisons of the two directions."""

from __future__ import annotations

import io
from typing import Any

import pytest
from made_grids import trial_of
from matplotlib.image import imread

from netlab.ethernet import Link
from netlab.report import in_tables
from netlab.report.draw.plot import drawn_each
from netlab.report.draw.style import PAGE_WIDE
from netlab.report.sections.pairs import INSIDE, NOT_REQUESTED, part
from netlab.report.tables.elements import HeatMap, Part, Table, TableCell
from netlab.trial.record import Record, Value

LINK = Link(1e8, 1500)


def reading(pairing: str, mbit_per_s: float | None, trial: int = 1, **more: Any) -> Record:
    """A trial of a TCP stream; one without a figure failed."""
    settings: dict[str, Value] = {"protocol": "TCP", "message_bytes": 1448}
    settings |= more.pop("settings", {})
    ok = mbit_per_s is not None
    values = {
        "throughput_bit_per_s": mbit_per_s * 1e6 if mbit_per_s is not None else None,
        **more.pop("flow", {}),
        **more.pop("values", {}),
    }
    return trial_of(
        values,
        **{
            "cell": f"{pairing} {sorted(settings.items())}",
            "trial": trial,
            "status": "ok" if ok else "failed",
            "reason": None if ok else "path-blocked",
            "pairing": pairing,
            "settings": settings,
            **more,
        },
    )


def section_of(readings: list[Record]) -> Part:
    section = part(readings, LINK, imported=False)
    assert section is not None
    return section


def sheet_of(section: Part, title: str) -> Table:
    return next(sheet for sheet in (*section.sheets, *section.details) if title in sheet.title)


def place(sheet: Table, row: str, column: str) -> TableCell:
    line = next(line for line in sheet.lines if line.label == row)
    return line.places[sheet.columns.index(column)]


def why(sheet: Table, cell: TableCell) -> str:
    return " ".join(dict(sheet.footnotes)[letter] for letter in cell.notes)


def test_a_pair_table_has_a_row_per_client_and_a_column_per_server() -> None:
    sheet = sheet_of(section_of([reading("nas+desk", 90.0), reading("desk+nas", 50.0)]), "TCP 1448")
    assert place(sheet, "desk", "nas").value == 90.0
    assert place(sheet, "nas", "desk").value == 50.0
    for host in ("nas", "desk"):
        blank = place(sheet, host, host)
        assert blank.value is None
        assert why(sheet, blank) == NOT_REQUESTED[0].upper() + NOT_REQUESTED[1:]


def test_a_pair_table_marks_pairs_within_one_machine_and_leaves_them_out_of_means() -> None:
    section = section_of(
        [
            reading("a+a", 9000.0),
            reading("a@x+a@y", 8000.0),
            reading("b+c", 7000.0, same_host=True),
            reading("a+b", 90.0),
            reading("b+a", 80.0),
        ]
    )
    sheet = sheet_of(section, "TCP")
    for client, server in (("a", "a"), ("a@y", "a@x"), ("c", "b")):
        assert INSIDE[1:] in why(sheet, place(sheet, client, server))
    assert place(sheet, "a", "mean (pairs)").text == "80.00 (1)"
    assert place(sheet, "c", "mean (pairs)").text == ""
    assert place(sheet, "mean (pairs)", "mean (pairs)").text == "85.00 (2)"
    (heat_map,) = section.charts
    assert isinstance(heat_map, HeatMap)
    assert max(v for row in heat_map.values for v in row if v is not None) == 90.0
    assert sum(v is not None for row in heat_map.inside for v in row) == 3
    assert any("3 pairs are within one machine" in text for text in section.paragraphs)


def test_a_failed_pair_is_blank_with_its_reason_and_in_no_mean() -> None:
    sheet = sheet_of(section_of([reading("a+b", 90.0), reading("a+c", None)]), "TCP")
    blank = place(sheet, "c", "a")
    assert (blank.text, blank.value) == ("", None)
    assert "(path-blocked)" in why(sheet, blank)
    assert place(sheet, "mean (pairs)", "a").text == "90.00 (1)"


def test_a_pair_shows_the_mean_and_number_of_its_trials_with_a_figure() -> None:
    trials = [reading("a+b", 90.0, 1), reading("a+b", 92.0, 2), reading("a+b", None, 3)]
    sheet = sheet_of(section_of(trials), "TCP")
    cell = place(sheet, "b", "a")
    assert cell.text == "91.00 (2)"
    assert "(path-blocked)" in why(sheet, cell)


def test_a_pair_above_the_wire_ceiling_is_marked() -> None:
    sheet = sheet_of(section_of([reading("a+b", 94.9), reading("b+a", 95.2)]), "TCP")
    assert place(sheet, "b", "a").notes == ()
    assert "above 94.93 Mbit/s" in why(sheet, place(sheet, "a", "b")).lower().replace("mb", "Mb")


def test_each_protocol_and_message_size_has_a_pair_table_named_with_the_offered_rate() -> None:
    udp = {"protocol": "UDP", "message_bytes": 1472, "rate_bit_per_s": 5e7}
    section = section_of([reading("a+b", 90.0), reading("a+b", 49.9, settings=udp)])
    assert [sheet.title.split(":")[0] for sheet in section.sheets] == [
        "TCP 1448",
        "UDP 1472, offered 50 Mbit/s",
    ]
    assert len(section.charts) == 2


def test_one_trial_in_each_direction_gives_no_verdict_on_the_directions() -> None:
    sheet = sheet_of(section_of([reading("a+b", 90.0), reading("b+a", 30.0)]), "One direction")
    (line,) = sheet.lines
    assert line.label == "a ↔ b"
    assert [cell.text for cell in line.places[:2]] == ["30.00 Mbit/s", "90.00 Mbit/s"]
    assert line.places[-1].text == "cannot tell: one pair of trials has no interval (n = 1)"


def test_only_directions_that_differ_beyond_noise_are_called_different_and_come_first() -> None:
    noise = (0.0, 0.3, -0.2, 0.1, -0.1)
    trials = [
        reading(pairing, mbit_per_s + noise[(trial + len(pairing)) % 5], trial)
        for trial in range(1, 6)
        for pairing, mbit_per_s in (("a+bb", 90.0), ("bb+a", 90.0), ("a+c", 90.0), ("c+a", 80.0))
    ]
    sheet = sheet_of(section_of(trials), "One direction")
    words = {line.label: line.places[-1].text for line in sheet.lines}
    assert [line.label for line in sheet.lines] == ["a ↔ c", "a ↔ bb"]
    assert "% more" in words["a ↔ c"]
    assert "more" not in words["a ↔ bb"].split("(")[0]


def test_directions_within_one_machine_are_not_compared() -> None:
    section = section_of(
        [reading("a+b", 90.0, same_host=True), reading("b+a", 30.0, same_host=True)]
    )
    assert [sheet.title for sheet in section.sheets if "direction" in sheet.title] == []


def test_a_pair_whose_server_sends_is_listed_in_the_direction_of_its_data() -> None:
    back = {"direction": "server-sends"}
    section = section_of([reading("a+b", 90.0, settings=back), reading("b+a", 30.0, settings=back)])
    (line,) = sheet_of(section, "One direction").lines
    assert line.places[0].text == "90.00 Mbit/s"


def test_offered_sent_and_received_rates_are_listed_with_loss_and_jitter() -> None:
    udp = {"protocol": "UDP", "message_bytes": 1472, "rate_bit_per_s": 5e7}
    counts = {"sent_messages": 1000, "lost_messages": 100}
    values = {"sent_bit_per_s": 4.99e7, "receiver_jitter_ns": 12_000}
    section = section_of(
        [
            reading("a+b", 44.91, settings=udp, flow=counts, values=values),
            reading("b+a", None, settings=udp),
        ]
    )
    sheet = sheet_of(section, "offered, sent, received")
    row = {name: place(sheet, "b → a", name).text for name in sheet.columns}
    assert list(row.values()) == ["50.00", "49.90", "44.91", "10.00", "12.00"]
    blank = place(sheet, "a → b", "received, Mbit/s")
    assert blank.value is None
    assert "(path-blocked)" in why(sheet, blank)
    assert place(sheet, "a → b", "offered, Mbit/s").value == 50.0


def test_rows_of_offered_rates_name_sender_and_receiver_and_settings_that_differ() -> None:
    udp: dict[str, Value] = {"protocol": "UDP", "rate_bit_per_s": 5e7}
    sizes: list[dict[str, Value]] = [{**udp, "message_bytes": size} for size in (64, 1472)]
    values = {"sent_bit_per_s": 4.99e7}
    section = section_of([reading("a+b", 49.0, settings=udp, values=values) for udp in sizes])
    sheet = sheet_of(section, "offered, sent, received")
    assert [line.label for line in sheet.lines] == ["UDP 64: b → a", "UDP 1472: b → a"]
    back = {**sizes[0], "direction": "server-sends"}
    sheet = sheet_of(
        section_of([reading("a+b", 49.0, settings=back, values=values)]), "offered, sent"
    )
    assert [line.label for line in sheet.lines] == ["a → b"]


def test_a_trial_that_missed_its_common_window_is_marked_in_the_pair_table() -> None:
    together = {"common_window_trials": 2, "common_window": True, "clock_bound_ns": 30_000}
    section = section_of(
        [
            reading("a+b", 90.0, values=together),
            reading("c+d", 80.0, values={**together, "common_window": False}),
        ]
    )
    sheet = sheet_of(section, "TCP")
    assert place(sheet, "b", "a").notes == ()
    assert "did not send over the whole" in why(sheet, place(sheet, "d", "c"))


def test_a_pair_slower_than_other_pairs_of_its_hosts_is_marked_among_enough_pairs() -> None:
    pairs = [f"{server}+{client}" for server in "abc" for client in "abc" if server != client]
    even = [reading(pair, 90.0 + number / 10) for number, pair in enumerate(pairs)]
    slow = [*even[:-1], reading(pairs[-1], 26.3)]
    sheet = sheet_of(section_of(slow), "TCP")
    marked = why(sheet, place(sheet, "b", "c"))
    assert "Below what its two hosts reach with others, 90.00 Mbit/s" in marked
    assert all(
        "with others" not in text.lower() for _, text in sheet_of(section_of(even), "TCP").footnotes
    )
    # With four pairs it cannot be decided which one deviates.
    few = sheet_of(section_of(slow[-4:]), "TCP")
    assert all("with others" not in text.lower() for _, text in few.footnotes)


def test_no_pair_is_marked_as_slow_if_one_host_slows_all_of_its_pairs() -> None:
    pairs = [f"{server}+{client}" for server in "abc" for client in "abc" if server != client]
    slow = [reading(pair, 18.8 if "c" in pair else 94.1) for pair in pairs]
    sheet = sheet_of(section_of(slow), "TCP")
    assert all("with others" not in text.lower() for _, text in sheet.footnotes)


def test_a_pair_with_longer_round_trips_than_its_hosts_explain_is_marked() -> None:
    hosts = dict(zip("abcde", (10.0, 20.0, 30.0, 10.0, 400.0), strict=True))
    pairs = [(server, client) for server in hosts for client in hosts if server != client]
    trials = [
        reading(
            f"{server}+{client}",
            None,
            status="ok",
            reason=None,
            test="round_trip",
            values={
                "rtt_mean_ns": 1e3
                * (100 + hosts[server] + hosts[client] + 300 * ((server, client) == ("b", "a")))
            },
        )
        for server, client in pairs
    ]
    sheet = sheet_of(section_of(trials), "mean round trip")
    marked = {
        (client, server)
        for server, client in pairs
        if "Longer than its two hosts add" in why(sheet, place(sheet, client, server))
    }
    assert marked == {("a", "b")}


def test_rates_within_one_machine_make_no_pair_over_the_cable_look_slow() -> None:
    inside = [reading(f"{name}+{name}", 9000.0) for name in "abcdefg"]
    sheet = sheet_of(section_of([*inside, reading("a+b", 90.0), reading("b+a", 80.0)]), "TCP")
    assert all("with others" not in text.lower() for _, text in sheet.footnotes)


def test_pairs_are_in_the_tables_of_pairings_unless_they_are_a_mesh() -> None:
    letters, names = reading("LL", 90.0), reading("a+b", 90.0)
    assert part([letters], LINK, imported=False) is None
    assert in_tables([letters, names]) == [letters, names]
    mesh = [reading(pairing, 90.0) for pairing in ("a+b", "b+c", "c+a")]
    assert in_tables([letters, *mesh]) == [letters]


@pytest.mark.parametrize("hosts", [2, 60])
def test_a_heat_map_of_2_or_60_hosts_shows_mainly_coloured_places(hosts: int) -> None:
    trials = [
        reading(f"host-{server:03}+host-{client:03}", 50.0 + (server * client) % 40)
        for server in range(hosts)
        for client in range(hosts)
    ]
    section = section_of(trials)
    (picture,) = drawn_each([(chart, PAGE_WIDE) for chart in section.charts])
    assert f"{hosts} clients by {hosts} servers" in picture.chart.alt
    assert bool(section.details) == (hosts > 20)
    # With any number of hosts the places dominate the picture, not the lines between them.
    red, _, blue, _ = imread(io.BytesIO(picture.png)).transpose(2, 0, 1)
    assert (blue > red + 0.1).mean() > (0.3 if hosts > 20 else 0.05)


def test_a_heat_map_without_a_figure_is_left_out() -> None:
    assert section_of([reading("a+b", None)]).charts == ()
