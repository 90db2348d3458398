"""LaTeX compiles tables.tex, and no text of a host becomes a command."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from folders import REPORTS
from hypothesis import given
from hypothesis import strategies as st
from made_reports import RECORDED, copied

from netlab.findings.analysis import load
from netlab.report import write_report
from netlab.report.language import languages, wording_in
from netlab.report.tables.elements import (
    Chart,
    Part,
    Table,
    TableCell,
    TableKind,
    TableLine,
    blank,
    grid_table,
    throughput_cell,
)
from netlab.report.write.latex import document, latex_prose
from netlab.results.layout import TableColumn

HOSTILE = "\\input{/etc/passwd} $x^2_{1}$ 50% & #1 ~ [a] *b* \"q\" <|> `` '' --- ?` !`"
GERMAN = wording_in("de")
OTHER_SCRIPTS = "网络 Käse Čapek Ωμέγα 🐞 ½ \x1b[31m é\u0301 ﬀ"


def table(rows: list[TableLine], columns: int = 2, **fields: Any) -> Table:
    words = {"pairing": "LL", "quantity": "throughput, Mbit/s", "corner": "socket buffer"} | fields
    keys = tuple(TableColumn("TCP", 64 + index) for index in range(columns))
    return grid_table(keys, lines=rows, footnotes=(("a", HOSTILE),), **words)


def part(*sheets: Table) -> Part:
    return Part(name="further", title="Further & more", sheets=sheets)


def row(label: str, *values: float | None, kind: TableKind = "value") -> TableLine:
    entries = tuple(
        blank(("a",)) if rate is None else throughput_cell(rate, 13, shows_n=kind == "mean")
        for rate in values
    )
    return TableLine(label, entries, kind=kind, unit="Mbit/s")


def test_a_grid_in_latex_has_a_line_per_row_and_figures_aligned_by_siunitx() -> None:
    tex = document(
        "run", [table([row("16 KiB", 94.1e6, None), row("mean", 94e6, None, kind="mean")])]
    )
    assert r"S[table-format=2.2, table-space-text-post={\,(13)}]" in tex
    assert (
        "\n\\qty{16}{KiB} & 94.10 & {\\textsuperscript{a}} \\\\\n\\midrule\nmean & 94.00 {\\,(13)}"
        in tex
    )
    assert r"\multicolumn{2}{c}{TCP}" in tex
    assert r"\captionoftable{LL: throughput, Mbit/s}" in tex
    for command in (
        r"\toprule",
        r"\bottomrule",
        r"\usepackage{array,booktabs,graphicx,longtable,siunitx}",
    ):
        assert command in tex


def test_german_figures_in_latex_have_no_group_separators_and_a_decimal_comma() -> None:
    sheet = Table(
        "sizes", "frame", ("frames/s",), (TableLine("64", (TableCell("1.488.095,5", 1488095.5),)),)
    )
    tex = document("Lauf", [], [part(sheet)], wording=GERMAN)
    assert "64 & 1488095.5 \\\\" in tex
    assert "output-decimal-marker={{{,}}}" in tex
    assert "S[table-format=7.1]" in tex


def test_a_latex_column_of_words_and_figures_is_set_as_words() -> None:
    sheet = Table(
        "mixed",
        "row",
        ("limit",),
        (TableLine("a", (TableCell("device"),)), TableLine("b", (TableCell("7"),))),
    )
    tex = document("run", [], [part(sheet)])
    assert "S[" not in tex
    assert "a & {device} \\\\\nb & {\\num{7}} \\\\" in tex


def test_a_grid_too_wide_for_the_page_is_cut_in_latex_and_loses_no_column() -> None:
    wide = table([row("16 KiB", *(float(n) * 1e9 for n in range(1, 41)))], columns=40)
    tex = document("run", [wide])
    pieces = tex.split(r"\begin{tabular}{@{}l")[1:]
    assert len(pieces) > 1
    heads = [piece.partition("\n\\qty{16}{KiB}")[0].splitlines()[-2] for piece in pieces]
    sizes = [size for head in heads for size in re.findall(r"\{(\d+)\}", head)]
    assert sizes == [str(64 + n) for n in range(40)]


@pytest.mark.parametrize(
    ("text", "tex"),
    [
        ("94.10 Mbit/s of payload", r"\qty{94.10}{Mbit/s} of payload"),
        ("93.27 ± 0.48 Mbit/s", r"\qty{93.27 +- 0.48}{Mbit/s}"),
        ("99.1 % in 1,448 bytes", r"\qty{99.1}{\percent} in \qty{1448}{bytes}"),
        ("-12 µs (3 ms)", r"\qty{-12}{\micro\second} (\qty{3}{ms})"),
        ("1 session, TCP 1448, 5 strange", "1 session, TCP 1448, 5 strange"),
        ("version 1.2.3 s and host-7 s", "version 1.2.3 s and host-7 s"),
    ],
)
def test_a_number_with_its_unit_is_set_by_siunitx(text: str, tex: str) -> None:
    assert latex_prose(text) == tex


def test_a_german_number_with_its_unit_is_set_by_siunitx() -> None:
    assert latex_prose("1.448,5 Mbit/s, 3 %", ",") == r"\qty{1448.5}{Mbit/s}, \qty{3}{\percent}"


def test_latex_charts_follow_the_overview_and_section_charts_follow_their_tables() -> None:
    def chart(name: str) -> Chart:
        return Chart(name=name, title="TCP, 5 ms", x_label="x", x_ticks=(), log_x=False, lines=())

    further = replace(part(Table("sheet", "c", (), ())), charts=(chart("further-1"),))
    tex = document(
        "run",
        [table([row("16 KiB", 1e6, 2e6)], quantity="each")],
        [further],
        overviews=[table([row("LL", 1e6, 2e6)], quantity="means")],
        charts=[chart("socket-buffer-tcp"), chart("no}name")],
    )
    captions = re.findall(r"captionoftable{(?:LL: )?(\w+)}|IfFileExists{charts/(.*?)}", tex)
    assert [table_name or chart_name for table_name, chart_name in captions] == [
        *("means", "socket-buffer-tcp.pdf", "each", "sheet", "further-1.pdf"),
    ]
    assert r"\caption{TCP, \qty{5}{ms}, Mbit/s}" in tex
    assert "{charts/socket-buffer-tcp.pdf}\n" in tex


@given(st.text(max_size=40))
def test_no_text_becomes_a_latex_command_a_comment_or_an_open_brace(text: str) -> None:
    tex = latex_prose(text)
    assert "\n" not in tex
    assert "\x1b" not in tex
    plain = re.sub(r"\\[{}$&#%_]", "", tex)
    assert plain.count("{") == plain.count("}")
    assert plain.count("$") % 2 == 0
    assert not re.search("[%#&]", plain)
    commands = set(re.findall(r"\\([a-zA-Z]+)", tex))
    symbols = "textbackslash textasciicircum textasciitilde textless textgreater textbar dots mu"
    more = "varphi circ pm times div cdot rightarrow leftarrow leftrightarrow leq geq neq approx"
    assert commands <= set(
        f"{symbols} {more} infty surd u r H v c allowbreak qty percent micro second".split()
    )


def compiled(tex: str, folder: Path) -> str:
    """Compile it and return the log; an error of LaTeX is a failure."""
    folder.mkdir(exist_ok=True)
    (folder / "tables.tex").write_text(tex, encoding="utf-8")
    process = subprocess.run(
        [
            "pdflatex",
            "-halt-on-error",
            "-interaction=nonstopmode",
            "-no-shell-escape",
            "tables.tex",
        ],
        cwd=folder,
        capture_output=True,
        timeout=300,
        check=False,
    )
    log = (folder / "tables.log").read_text("latin-1")
    assert process.returncode == 0, log[-2000:]
    assert (folder / "tables.pdf").stat().st_size > 1000
    assert "Missing character" not in log
    return log


@pytest.mark.needs("pdflatex")
@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("connection-kinds-lab", "de"),  # wide tables, and charts
        *(
            pytest.param(path.name, language, marks=pytest.mark.night)
            for path, language in product(RECORDED, languages())
        ),
    ],
)
def test_the_latex_file_of_a_recorded_run_compiles_within_the_margins_with_its_charts(
    name: str, language: str, tmp_path: Path
) -> None:
    run = copied(REPORTS / name, tmp_path)
    write_report(load(run), wording_in(language))
    tex = (run / "tables.tex").read_text(encoding="utf-8")
    log = compiled(tex, run)
    assert re.findall(r"Overfull \\[hv]box.*", log) == []
    assert re.findall(r"(?i).*undefined.*", log) == []
    assert ("from babel-de.ini" in log) == (language == "de")
    charts = {chart.name for chart in (run / "charts").glob("*.pdf")}
    assert set(re.findall(r"<charts/([^>,]*\.pdf)", log.replace("\n", ""))) == charts


@pytest.mark.needs("pdflatex")
def test_a_latex_figure_whose_file_is_absent_is_left_out(tmp_path: Path) -> None:
    absent = Chart(name="absent", title="t", x_label="x", x_ticks=(), log_x=False, lines=())
    tex = document("run", [table([row("16 KiB", 1e6, 2e6)])], charts=[absent])
    log = compiled(tex, tmp_path)
    assert "charts/absent" in tex
    assert "charts/absent" not in log.replace("\n", "")


@pytest.mark.needs("pdflatex")
def test_hostile_texts_and_other_scripts_compile_in_latex_as_text(tmp_path: Path) -> None:
    hostile = table(
        [row(HOSTILE, 1e6, None), row("[x] *", 2e6, 3e6), row(OTHER_SCRIPTS, None, 0.0)],
        pairing=HOSTILE,
        conditions=OTHER_SCRIPTS,
        corner=HOSTILE,
    )
    sheet = Table(
        title=HOSTILE,
        corner=OTHER_SCRIPTS,
        columns=(HOSTILE, "n", OTHER_SCRIPTS),
        lines=tuple(
            TableLine(
                f"{index} {HOSTILE}",
                (TableCell(HOSTILE), TableCell(str(index), index), TableCell(text)),
            )
            for index, text in enumerate((HOSTILE, OTHER_SCRIPTS, "", "[", "*"))
        ),
        footnotes=(("a", HOSTILE),),
    )
    tex = document(f"{HOSTILE} {OTHER_SCRIPTS}", [hostile], [part(sheet)])
    compiled(tex, tmp_path)


@pytest.mark.needs("pdflatex")
def test_a_long_grid_in_latex_continues_over_several_pages(tmp_path: Path) -> None:
    long = table([row(f"{n} KiB", n * 1e6, None) for n in range(1, 200)])
    log = compiled(document("run", [long]), tmp_path)
    pages = re.search(r"Output written on tables\.pdf \((\d+) pages", log)
    assert pages is not None
    assert int(pages.group(1)) >= 3
