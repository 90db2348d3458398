"""The report's tables are written as CSV, as Markdown and for a terminal."""

from __future__ import annotations

import csv
import io

from made_grids import LINK, blank, reading, table_of, tables_of

from netlab.report.page import methods
from netlab.report.tables.elements import Chart, Part, Table
from netlab.report.write.text import comma_separated, markdown, plain


def test_a_csv_table_is_one_rectangle_without_spreadsheet_formulas() -> None:
    table = table_of(
        reading(90, interface="=HYPERLINK(1)", streams=1),
        reading(91, interface=" @x\n=1", streams=1),
        blank(pairing="=A", interface="=HYPERLINK(1)", streams=1),
    )
    hostile = tables_of(blank(pairing="=A"), reading(pairing="-B"), reading(pairing="\t+C"))
    rows = list(csv.reader(io.StringIO(comma_separated([table, *hostile]))))
    assert len({len(row) for row in rows}) == 1
    assert len(rows) > 10
    assert not [cell for row in rows for cell in row if cell[:1] in set("=+-@\t\r")]


def test_a_csv_table_has_figures_with_units_and_the_reason_of_each_blank() -> None:
    table = table_of(reading(90), blank(protocol="UDP"), link=LINK)
    rows = list(csv.DictReader(io.StringIO(comma_separated([table]))))
    first = rows[0]
    assert (first["row"], first["unit"], first["TCP 64"], first["UDP 64"]) == (
        "16 KiB",
        "Mbit/s",
        "90.00",
        "",
    )
    assert first["notes"].startswith("UDP 64: Failed: ")
    counts = next(row for row in rows if row["unit"] == "n")
    assert (counts["row"], counts["TCP 64"], counts["UDP 64"]) == ("mean", "1", "0")


def test_markdown_escapes_host_texts_and_lists_footnotes() -> None:
    text = markdown(
        "a|b <script>\n# c",
        tables_of(blank(pairing="<b>|"), reading(pairing="LL", interface="`x`|*y*")),
        ["Link: [x](y)."],
    )
    assert "<script>" not in text
    assert "<b>" not in text
    assert text.startswith("# a\\|b \\<script\\> \\# c\n")
    lines = [line.replace("\\|", "") for line in text.splitlines() if line.startswith("|")]
    assert len(lines) == 2 * 5
    assert {line.count("|") for line in lines} == {3}
    assert "- *a* Failed: " in text
    assert "*a*" in lines[2]


def test_markdown_begins_with_answers_and_places_charts_beside_their_tables() -> None:
    def chart(name: str, title: str = "TCP") -> Chart:
        return Chart(name=name, title=title, x_label="x", x_ticks=(), log_x=False, lines=())

    overview, means = tables_of(reading(90, pairing="LW"), reading(91, pairing="WL"))
    sheet = Table("times", "cell", (), ())
    text = markdown(
        "run",
        [means],
        ["Link: 100 Mbit/s."],
        [Part(name="further", title="Further", sheets=(sheet,), charts=(chart("further-1"),))],
        first=[("Answers", ["TCP: *90* Mbit/s", "UDP: <b>"]), ("Warnings", [])],
        overviews=[overview],
        charts=[chart("means", "a](x) <b>"), chart("no) [name")],
    )
    order = [
        *("# run", "## Answers", "- TCP: \\*90\\* Mbit/s\n- UDP: \\<b\\>\n", "Link: 100 Mbit/s."),
        *("## LW", "(charts/means.png)", "## WL", "## Further", "### times"),
        "(charts/further-1.png)",
    ]
    positions = [text.index(words) for words in order]
    assert positions == sorted(positions)
    assert "![Line chart: a\\](x) \\<b\\>, in Mbit/s" in text
    assert text.count("![") == 2
    assert "Warnings" not in text


def test_terminal_tables_contain_no_escape_sequence() -> None:
    table = table_of(blank("failed", "\x1b[31m\u202eword"))
    assert "\x1b" not in plain(table)
    assert "\u202e" not in plain(table)
    assert "word" in plain(table)


def test_the_methods_section_states_that_figures_of_iperf3_were_printed_by_the_tool() -> None:
    plain, by_tool = reading(94), reading(94, engine="iperf3")
    (sentence,) = [
        text for text in methods((plain, by_tool), None, source=None) if "iperf3" in text
    ]
    assert sentence.startswith("The figures of iperf3 are those that the tool printed")
    assert not any("the tool" in text for text in methods((plain,), None, source=None))


def test_the_methods_section_names_pairings_whose_server_opens_the_connection() -> None:
    reverse_reading = reading(94, pairing="WL", flow={"connected_by": "server"})
    plain = reading(94, pairing="LW", flow={"connected_by": "client"})
    (sentence,) = [
        text
        for text in methods((reverse_reading, plain), None, source=None)
        if "the server connects" in text
    ]
    assert sentence.endswith("which changes the MSS (TCP of WL).")
    assert not any("the server connects" in text for text in methods((plain,), None, source=None))
