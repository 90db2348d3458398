"""The report of the recorded connection-kinds document reproduces its tables and their blanks."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from folders import ROOT

from netlab.errors import MatrixError, UsageError
from netlab.ethernet import Link
from netlab.findings.analysis import Analysis, load
from netlab.imports.common.csv_table import parse
from netlab.imports.pairs import FORM, import_pairs
from netlab.report.sections import parts_of
from netlab.report.tables.elements import HeatMap, Part, Table, TableCell

FOLDER = ROOT / "reports" / "connection-kinds"
TABLE = FOLDER / "connection-kinds.csv"
HEADER = "protocol,offered_mbit_per_s,client,server,mbit_per_s\n"
NOW = "2026-01-31T12:00:00.000000Z"

GUESTS = ("colinux-winpcap-bridge", "colinux-tap-router", "colinux-tap-bridge")
HOSTS = (*GUESTS, "windows2000", "linux")
PC = dict.fromkeys((*GUESTS, "windows2000"), "pc")

PRINTED = {
    "TCP": """\
1177.6 - - 93.7 26.3
- 1361.9 - 107 92.8
- - 1198.1 81.7 92.8
77.5 158 42.2 672 93.7
85.9 85.8 85.6 86.0 4393.0
""",
    "UDP": """\
100 - - 80.4 99.3
- 99.4 - 98.7 94.3
- - 99.5 88.3 94.2
93.8 99.5 100 100 94.8
87.6 84.7 87.0 85.5 100
""",
}
"""The document's tables as they stand there: a row a client, a column a server, in ``HOSTS``."""


@pytest.fixture(scope="module")
def run() -> Analysis:
    return load(FOLDER)


@pytest.fixture(scope="module")
def part(run: Analysis) -> Part:
    all_parts = parts_of(run, run.trials)
    return next(
        candidate for candidate in all_parts if candidate.name == "every-host-with-every-other"
    )


def table(part: Part, protocol: str) -> Table:
    return next(sheet for sheet in part.sheets if sheet.title.startswith(protocol))


def place(sheet: Table, client: str, server: str) -> TableCell:
    line = next(line for line in sheet.lines if line.label == client)
    return line.places[sheet.columns.index(server)]


def why(sheet: Table, cell: TableCell) -> str:
    return " ".join(dict(sheet.footnotes)[letter] for letter in cell.notes)


@pytest.mark.parametrize("protocol", PRINTED)
def test_the_report_reproduces_each_table_of_the_connection_kinds_document_with_its_blanks(
    part: Part, protocol: str
) -> None:
    sheet = table(part, protocol)
    assert sheet.columns == (*HOSTS, "mean (pairs)")
    assert [line.label for line in sheet.lines] == [*HOSTS, "mean (pairs)"]
    texts = [[place(sheet, c, s).text or "-" for s in HOSTS] for c in HOSTS]
    assert texts == [line.split() for line in PRINTED[protocol].splitlines()]


def test_the_committed_connection_kinds_csv_has_exactly_the_figures_of_the_document() -> None:
    rows = list(csv.DictReader(TABLE.read_text("utf-8").splitlines()))
    figures = {(r["protocol"], r["client"], r["server"]): r["mbit_per_s"] or "-" for r in rows}
    assert len(rows) == len(figures) == 50
    for protocol, printed_table in PRINTED.items():
        lines = [line.split() for line in printed_table.splitlines()]
        for client, line in zip(HOSTS, lines, strict=True):
            assert [figures[protocol, client, server] for server in HOSTS] == line
    assert {r["offered_mbit_per_s"] for r in rows} == {"", "100"}


@pytest.mark.parametrize("protocol", PRINTED)
def test_recorded_pairs_within_one_machine_are_marked_and_left_out_of_the_means(
    part: Part, protocol: str
) -> None:
    sheet = table(part, protocol)
    for client in HOSTS:
        for server in HOSTS:
            inside = PC.get(client, client) == PC.get(server, server)
            assert ("Within one machine" in why(sheet, place(sheet, client, server))) == inside
    assert place(sheet, "linux", "mean (pairs)").text.endswith("(4)")
    assert place(sheet, "windows2000", "mean (pairs)").text.endswith("(1)")
    assert place(sheet, "mean (pairs)", "mean (pairs)").text.endswith("(8)")


def test_the_mean_of_all_pairs_is_over_the_eight_pairs_that_used_the_cable(part: Part) -> None:
    cell = place(table(part, "TCP"), "mean (pairs)", "mean (pairs)")
    over_cable = [26.3, 92.8, 92.8, 93.7, 85.9, 85.8, 85.6, 86.0]
    assert cell.value == pytest.approx(sum(over_cable) / 8)


def test_a_blank_of_the_imported_document_has_the_reason_not_recorded(part: Part) -> None:
    sheet = table(part, "UDP")
    blank = place(sheet, "colinux-tap-router", "colinux-tap-bridge")
    assert blank.value is None
    assert "(not-recorded)" in why(sheet, blank)


def test_the_one_udp_figure_above_every_wire_ceiling_of_the_cable_is_marked(part: Part) -> None:
    sheet = table(part, "UDP")
    marked = {
        (client, server)
        for client in HOSTS
        for server in HOSTS
        if "at any message size" in why(sheet, place(sheet, client, server))
    }
    assert marked == {("colinux-winpcap-bridge", "linux")}
    assert place(sheet, "colinux-winpcap-bridge", "linux").text == "99.3"


def test_only_the_pair_that_the_document_doubts_is_marked_as_slower_than_its_hosts_allow(
    part: Part,
) -> None:
    marked = {
        (protocol, client, server)
        for protocol in PRINTED
        for client in HOSTS
        for server in HOSTS
        if "reach with others" in why(sheet := table(part, protocol), place(sheet, client, server))
    }
    # (*1) in the document.
    assert marked == {("TCP", "colinux-winpcap-bridge", "linux")}


def test_one_trial_in_each_direction_shows_both_rates_and_no_verdict(part: Part) -> None:
    sheet = next(sheet for sheet in part.sheets if sheet.title.startswith("One direction"))
    assert len(sheet.lines) == 8
    words = "cannot tell: one pair of trials has no interval (n = 1)"
    assert {line.places[-1].text for line in sheet.lines} == {words}
    first = sheet.lines[0]
    assert first.label == "TCP: colinux-winpcap-bridge ↔ linux"
    assert [cell.text for cell in first.places[:2]] == ["26.30 Mbit/s", "85.90 Mbit/s"]


def test_the_colour_scale_of_a_heat_map_ends_at_the_highest_rate_over_the_cable(part: Part) -> None:
    tcp, udp = part.charts
    assert isinstance(tcp, HeatMap)
    assert isinstance(udp, HeatMap)
    assert max(v for row in tcp.values for v in row if v is not None) == 93.7
    assert tcp.inside[3][1] == 158


def test_importing_the_connection_kinds_table_again_gives_the_committed_run(
    run: Analysis, tmp_path: Path
) -> None:
    into = import_pairs(
        TABLE,
        tmp_path / "again",
        title=run.plan.title,
        machines=PC,
        link=Link(1e8, 1500),
        facts=FOLDER / "facts.yaml",
        imported_at=NOW,
    )
    again = load(into)
    assert again.plan.content_hash == run.plan.content_hash
    assert again.plan.cells == run.plan.cells
    assert again.records == run.records


def test_the_committed_connection_kinds_page_has_the_figures_of_the_document() -> None:
    text = (FOLDER / "index.html").read_text("utf-8")
    assert [figure for figure in ("1177.6", "26.30", "85.90", "99.30") if figure not in text] == []


def test_an_import_without_a_machine_map_treats_only_a_host_with_itself_as_one_machine(
    tmp_path: Path,
) -> None:
    run = load(import_pairs(TABLE, tmp_path / "run"))
    assert run.frame["same_host"].sum() == 10


def test_importing_pairs_with_a_machine_map_of_unknown_hosts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no host of connection-kinds\.csv is called 'windows'"):
        import_pairs(TABLE, tmp_path / "run", machines={"windows": "pc"})


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ("SCTP,,a,b,1", "'SCTP' is neither TCP nor UDP"),
        ("TCP,,a b,b,1", "'a b' is neither a valid name of a host"),
        ("TCP,,a,,1", "'' is neither a valid name of a host"),
        ("TCP,,a,b,0", "0 is not a throughput; leave the field empty"),
        ("TCP,,a,b,-1", "not a plain decimal number"),
        ("TCP,,a,b,1e3", "not a plain decimal number"),
        ("UDP,fast,a,b,1", "offered_mbit_per_s: 'fast' is not a plain decimal"),
        ('TCP,,a,b,"1,5"', "write a decimal point"),
        ("TCP,,a,b,999999999", "is more than 100000000 Mbit/s"),
    ],
)
def test_an_invalid_row_of_a_pairs_table_is_refused_with_its_line_and_fault(
    row: str, fault: str
) -> None:
    with pytest.raises(MatrixError) as caught:
        parse(HEADER + row + "\n", "t.csv", FORM)
    assert fault in str(caught.value)
    assert "t.csv:2:" in str(caught.value)


def test_a_repeated_pair_is_refused_and_the_reverse_pair_is_accepted() -> None:
    assert len(parse(HEADER + "TCP,,a,b,1\nTCP,,b,a,1\nUDP,5,a,b,1\n", "t.csv", FORM)) == 3
    with pytest.raises(MatrixError, match="the same cell as in line 2"):
        parse(HEADER + "TCP,,a,b,1\n" * 2, "t.csv", FORM)
