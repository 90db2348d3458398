"""Tables and parts → a LaTeX document, in which siunitx sets every number that has a unit."""

from __future__ import annotations

import math
import re
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby

from netlab.messages import _
from netlab.report.language import Wording
from netlab.report.tables.elements import Chart, HeatMap, Part, Strip, Table, TableCell
from netlab.report.write.text import CHARTS, SAFE_NAME
from netlab.terminal import printable

_SPECIAL = {
    "\0": "{}",  # between two characters that would become one sign
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "’": "'",
    "‘": "`",
    "“": "``",
    "”": "''",
    "„": ",,",
    "–": "--",
    "—": "---",
    "…": r"\dots{}",
    "\u00a0": "~",
    "\u202f": r"\,",
    "°": r"$^\circ$",
    "−": "$-$",
    **{character: f"\\{character}" for character in "{}$&#%_"},
    # After the end of a row, LaTeX would read most of these as options of the row's end.
    **{character: f"{{{character}}}" for character in "[]*`"},
    **{power: f"$^{digit}$" for power, digit in zip("²³⁶⁹", "2369", strict=True)},
}
_SIGNS = {
    **{"mu": "µμ", "varphi": "φ", "pm": "±", "times": "×", "div": "÷", "cdot": "·"},
    **{"rightarrow": "→", "leftarrow": "←", "leftrightarrow": "↔", "leq": "≤", "geq": "≥"},
    **{"neq": "≠", "approx": "≈", "infty": "∞", "surd": "√"},
}
"""Name of a sign in LaTeX → its characters."""
_SPECIAL |= {character: rf"$\{name}$" for name, same in _SIGNS.items() for character in same}

_LETTERS = frozenset("ÄÖÜäöüßÀÁÂÃÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕØÙÚÛÝàáâãåæçèéêëìíîïñòóôõøùúûýÿ")
"""Letters that every engine has, even with LaTeX's oldest fonts."""

_ACCENTS = {
    **{"\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u"},
    **{"\u0307": ".", "\u0308": '"', "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0327": "c"},
}
"""Accent that follows a letter → LaTeX's command that sets it."""

_NOT_PLAIN = re.compile(r"[^A-Za-z0-9 ().:;/+=,-]|[-,](?=[-,])")

_GROUPS = ",.’\u00a0\u202f"
"""Characters that group digits, or that are the decimal marker, in some language."""
TEXT_WIDTH_PT = 480.0
"""A little less than the text width of an A4 page with margins of 19 mm."""
_SHORT = 24
"""Maximum number of characters of a text on one line; a longer text is set as a paragraph."""
_SHORT_TABLE_LINES = 40
"""Maximum number of lines of a table that fits on a page; a longer table runs over pages."""
_RAISED = 0.7
"""Relative size of the letters of footnotes."""
_HEAD = 11
"""Characters per line of a heading, unless its column is wider."""
_BABEL = r"""%% babel knows the language by its code: hyphenation, dates, captions.
\IfFileExists{babel-%(code)s.ini}{\usepackage{babel}\babelprovide[import=%(code)s,main]{%(code)s}}{}
"""


def latex_text(text: str) -> str:
    """LaTeX source that shows a text on one line; no part of the text is a command or a comment.

    A character that not every engine can set is replaced by its code: ``[U+4E2D]``.
    """
    if not _NOT_PLAIN.search(text):
        return text
    # Some pairs, such as two hyphens or a question mark before a quote, would become one sign.
    apart = re.sub(r"([-?!,'])(?=[-'`,])", "\\1\0", printable(text))
    return "".join(_character(c) or f"{{[}}U+{ord(c):04X}{{]}}\\allowbreak{{}}" for c in apart)


def _character(character: str) -> str | None:
    """A character in LaTeX, ``\\v{c}`` for ``č``; ``None`` if not every engine can set it."""
    if character in _SPECIAL:
        return _SPECIAL[character]
    if character.isascii() or character in _LETTERS:
        return character
    parts = unicodedata.normalize("NFD", character)
    if len(parts) == 2 and parts[0].isascii() and parts[1] in _ACCENTS:
        return f"\\{_ACCENTS[parts[1]]}{{{parts[0]}}}"
    return None


def shown_characters(text: str) -> int:
    """Number of visible characters of a text as ``latex_text`` writes it."""
    if text.isascii():
        return len(text)
    return sum(1 if _character(character) else 8 for character in printable(text))


_UNITS = {
    "%": r"\percent",
    "µs": r"\micro\second",
    "us": r"\micro\second",
    **{unit: unit for unit in ("h", "min", "s", "ms", "ns", "GHz", "MHz", "1/s", "frames/s")},
    **{f"{prefix}bit/s": f"{prefix}bit/s" for prefix in ("", "k", "M", "G", "T")},
    **{unit: unit for unit in ("B", "kB", "MB", "GB", "KiB", "MiB", "GiB")},
    **{unit: unit for unit in ("byte", "bytes", "Byte", "byte/s", "Byte/s")},
}
"""Unit in the report → unit for siunitx, which prints text that is not a macro unchanged."""

_UNIT = "|".join(sorted(map(re.escape, _UNITS), key=len, reverse=True))


def digits(text: str, marker: str) -> str | None:
    """A figure in the form of siunitx, ``1488095.5`` for ``1.488.095,5``; ``None`` for words."""
    ungrouped = dict.fromkeys(map(ord, _GROUPS), "") | {ord(marker): "."}
    plain = text.replace("−", "-").translate(ungrouped)
    return plain if re.fullmatch(r"-?\d+(\.\d+)?", plain) else None


def latex_prose(text: str, marker: str = ".") -> str:
    """LaTeX source as from ``latex_text``, but with ``94.10 Mbit/s`` as ``\\qty{94.10}{Mbit/s}``.

    ``93.27 ± 0.48 Mbit/s`` is one quantity with its interval. ``marker`` is the decimal marker of
    the text.
    """
    groups = re.escape(_GROUPS.replace(marker, ""))
    number = rf"[-−]?\d+(?:[{groups}]\d{{3}}(?!\d))*(?:{re.escape(marker)}\d+)?"
    quantities = re.finditer(
        rf"(?<![\w.,/^-])(?P<number>{number})(?: ± (?P<half>{number}))?"
        rf"[ \u00a0\u202f](?P<unit>{_UNIT})(?![\w/²³^])",
        text,
    )
    parts, at = [], 0
    for match in quantities:
        quantity = digits(match["number"], marker)
        half = digits(match["half"], marker) if match["half"] else None
        if quantity is None:
            continue
        parts.append(latex_text(text[at : match.start()]))
        with_half = quantity if half is None else f"{quantity} +- {half}"
        parts.append(rf"\qty{{{with_half}}}{{{_UNITS[match['unit']]}}}")
        at = match.end()
    return "".join([*parts, latex_text(text[at:])])


def figures(charts: Iterable[Chart | Strip | HeatMap], folder: str, marker: str = ".") -> list[str]:
    """A figure for each chart, as wide as the text. LaTeX leaves out a figure whose PDF is not in
    ``folder``.
    """
    blocks = []
    for chart in charts:
        if not SAFE_NAME.fullmatch(chart.name):
            continue
        file = f"{folder}/{chart.name}.pdf"
        unit = chart.unit if isinstance(chart, Chart) else ""
        caption = latex_prose(", ".join(word for word in (chart.title, unit) if word), marker)
        size = r"width=\textwidth,height=0.85\textheight,keepaspectratio"
        blocks += [
            rf"\IfFileExists{{{file}}}{{%",
            r"\begin{figure}[!htbp]",
            r"\centering",
            rf"\includegraphics[{size}]{{{file}}}",
            rf"\caption{{{caption}}}",
            r"\end{figure}}{}",
            "",
        ]
    return blocks


@dataclass(frozen=True, slots=True)
class _Size:
    command: str
    character_pt: float
    """Mean width of a character, a little more than the width of a digit."""
    gap_pt: float
    """Width between two columns."""


_SIZES = (
    _Size(r"\small", 4.6, 9.0),
    _Size(r"\footnotesize", 4.25, 7.0),
    _Size(r"\scriptsize", 3.95, 5.0),
)

_PREAMBLE = r"""%% Tables of a netlab run. It compiles as it is: pdflatex, lualatex or xelatex.
\documentclass[a4paper]{article}
\usepackage[margin=19mm]{geometry}
\usepackage{array,booktabs,graphicx,longtable,siunitx}
%% Without Latin Modern the upright mu is a bitmap, that of mathematics is not.
\IfFileExists{lmodern.sty}{\usepackage[T1]{fontenc}\usepackage{lmodern}}
  {\DeclareSIPrefix{\micro}{\ensuremath{\mu}}{-6}}
\sisetup{output-decimal-marker={%(marker)s}, group-minimum-digits=5}
%% Before version 3 of siunitx a quantity is \SI.
\providecommand{\qty}[2]{\SI{#1}{#2}}
\renewcommand{\tablename}{%(table)s}
\renewcommand{\figurename}{%(figure)s}
%(babel)s\setlength{\LTcapwidth}{\textwidth}
\setlength{\parindent}{0pt}
\makeatletter
\newcommand{\captionoftable}[1]{\def\@captype{table}\caption{#1}}
\makeatother
\raggedright
\begin{document}
"""


@dataclass(frozen=True, slots=True)
class _LatexCell:
    """One place: a figure with its suffix, or words."""

    text: str
    figure: str | None = None
    """The text as digits with a decimal point; ``None`` if it is not a number."""
    behind: str = ""
    """LaTeX after the text: a number in parentheses, letters of footnotes."""
    behind_characters: float = 0.0
    letters: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Column:
    """A column: the heading, and the places from top to bottom."""

    group: str
    head: str
    cells: tuple[_LatexCell, ...]
    paragraph: int = 30
    """Characters per line, if the column has texts that need several lines."""

    @cached_property
    def figures(self) -> list[str]:
        """All figures of the column as digits with a decimal point."""
        return [cell.figure for cell in self.cells if cell.figure is not None]

    @cached_property
    def is_numeric(self) -> bool:
        """Whether the column has figures and nothing else."""
        no_words = all(cell.figure is not None or not cell.text for cell in self.cells)
        return bool(self.figures) and no_words

    @cached_property
    def is_long(self) -> bool:
        """Whether the column has texts that need several lines."""
        return any(shown_characters(cell.text) > _SHORT for cell in self.cells)

    @cached_property
    def head_lines(self) -> list[str]:
        """The heading in lines no longer than the widest place or ``_HEAD``, whichever is more."""
        wide = max(_HEAD, self._body_characters)
        return textwrap.wrap(self.head, wide, break_long_words=False) or [""]

    @cached_property
    def characters(self) -> int:
        """The width of the column in characters."""
        return max(self._body_characters, *map(shown_characters, self.head_lines))

    @cached_property
    def digits(self) -> tuple[int, int]:
        """Maximum number of characters before the decimal marker, and behind it."""
        parts = [figure.partition(".") for figure in self.figures]
        return max(len(part[0]) for part in parts), max(len(part[2]) for part in parts)

    @cached_property
    def _body_characters(self) -> int:
        if self.is_numeric:
            # siunitx aligns at the decimal marker: the longest parts on either side may belong to
            # different figures.
            integers, fractions = self.digits
            shown = integers + fractions + bool(fractions)
            return math.ceil(shown + max(cell.behind_characters for cell in self.cells))
        widths = (shown_characters(cell.text) + cell.behind_characters for cell in self.cells)
        most = math.ceil(max(widths, default=0))
        return min(most, self.paragraph) if self.is_long else most

    def type_of(self, size: _Size) -> str:
        """Its type in LaTeX: ``S[…]`` for figures, ``l`` for words, ``p{…}`` for sentences."""
        if self.is_numeric:
            integer_digits = max(len(f.partition(".")[0].lstrip("-")) for f in self.figures)
            sign = "-" if any(figure.startswith("-") for figure in self.figures) else ""
            widest = max(self.cells, key=lambda cell: cell.behind_characters)
            room = f", table-space-text-post={{{widest.behind}}}" if widest.behind else ""
            return f"S[table-format={sign}{integer_digits}.{self.digits[1]}{room}]"
        if self.is_long:
            wide = self.characters * size.character_pt
            return rf">{{\raggedright\arraybackslash}}p{{{wide:.0f}pt}}"
        return "r" if self.figures else "l"

    def place(self, at: int, marker: str) -> str:
        """One place: a figure for siunitx with its suffix in braces, or words in braces."""
        cell = self.cells[at]
        if self.is_numeric and cell.figure is not None:
            return f"{cell.figure} {{{cell.behind}}}" if cell.behind else cell.figure
        is_number = cell.figure is not None
        words = rf"\num{{{cell.figure}}}" if is_number else latex_prose(cell.text, marker)
        return f"{{{words}{cell.behind}}}" if words or cell.behind else ""


def document(
    title: str,
    tables: Iterable[Table],
    parts: Iterable[Part] = (),
    wording: Wording | None = None,
    *,
    first: Iterable[tuple[str, Sequence[str]]] = (),
    overviews: Iterable[Table] = (),
    charts: Iterable[Chart | Strip | HeatMap] = (),
) -> str:
    """The first lists of sentences, all tables, the tables (sheets) of all parts, and the charts,
    under the run's title, in the order of ``text.markdown``.
    """
    wording = wording or Wording()
    marker, code = wording.decimal_marker, wording.language.replace("_", "-")

    def blocks_of(sheets: Iterable[Table]) -> list[str]:
        return [_block(sheet, marker) for sheet in sheets]

    preamble = _PREAMBLE % {
        # siunitx removes two pairs of braces; without a third pair, LaTeX adds a space after a
        # comma.
        "marker": marker if marker == "." else "{{" + marker + "}}",
        "table": latex_text(wording.table),
        "figure": latex_text(wording.text(_("Figure"))),
        "babel": _BABEL % {"code": code} if code != "en" else "",
    }
    blocks = [preamble, rf"\section*{{{latex_prose(title, marker)}}}" + "\n"]
    for heading, sentences in first:
        if sentences:
            blocks.append(rf"\section*{{{latex_prose(heading, marker)}}}")
            blocks += [rf"{latex_prose(text, marker)}\par\medskip" for text in sentences]
    blocks += [*blocks_of(overviews), *figures(charts, CHARTS, marker), *blocks_of(tables)]
    for part in parts:
        if part.sheets or part.details or part.charts:
            blocks.append(rf"\section*{{{latex_prose(part.title, marker)}}}" + "\n")
            blocks += [rf"{latex_prose(text, marker)}\par\medskip" for text in part.paragraphs]
            blocks += [*blocks_of(part.sheets), *figures(part.charts, CHARTS, marker)]
            blocks += blocks_of(part.details)
    return "\n".join([*blocks, "\\end{document}\n"])


def _place(place: TableCell, marker: str) -> _LatexCell:
    """A place of a table; ``94.10 (13)`` is a figure followed by a number in parentheses."""
    match = re.fullmatch(r"(\S+) (\(\d+\))", place.words)
    text, number = match.groups() if match else (place.words, "")
    marks = ",".join(place.notes)
    behind = (rf"\,{number}" if number else "") + (rf"\textsuperscript{{{marks}}}" if marks else "")
    wide = 1.2 * len(number) + _RAISED * len(marks)
    return _LatexCell(text, digits(text, marker), behind, wide, place.notes)


def _block(table: Table, marker: str) -> str:
    """The table, or several tables if it is wider than the page in the smallest type."""
    labels = _Column("", table.corner, tuple(_LatexCell(line.label) for line in table.lines))
    columns = [labels] + [
        _Column(group, head, tuple(_place(line.places[at], marker) for line in table.lines))
        for at, (group, head) in enumerate(table.heads)
    ]
    long = max(1, sum(column.is_long for column in columns))
    for size in _SIZES:
        spare_pt = TEXT_WIDTH_PT - _width_pt(columns, size)
        if spare_pt >= 0:
            # Paragraphs become as wide as the page permits.
            more = int(spare_pt / size.character_pt) // long
            wider = (replace(column, paragraph=column.paragraph + more) for column in columns)
            return _table(table, [*wider], size, marker)
    pieces: list[list[_Column]] = [[labels]]
    for column in columns[1:]:
        if len(pieces[-1]) > 1 and _width_pt([*pieces[-1], column], size) > TEXT_WIDTH_PT:
            pieces.append([labels])
        pieces[-1].append(column)
    return "\n".join(_table(table, piece, size, marker) for piece in pieces)


def _width_pt(columns: Sequence[_Column], size: _Size) -> float:
    characters = sum(column.characters for column in columns)
    return characters * size.character_pt + len(columns) * size.gap_pt


def _table(table: Table, columns: Sequence[_Column], size: _Size, marker: str) -> str:
    """Some columns of a table, of which the first has the headings of the rows."""
    heads = []
    for column in columns:
        lines = [latex_prose(line, marker) for line in column.head_lines]
        side = "r" if column.figures else "l"
        body = r"\\".join(lines)
        box = rf"\begin{{tabular}}[b]{{@{{}}{side}@{{}}}}{body}\end{{tabular}}"
        heads.append(f"{{{box if len(lines) > 1 else lines[0]}}}")
    # The line above the headings, with each protocol over its columns.
    spans, rules, at = [""], [], 2
    for name, of_group in groupby(column.group for column in columns[1:]):
        wide = len([*of_group])
        spans.append(rf"\multicolumn{{{wide}}}{{c}}{{{latex_prose(name, marker)}}}")
        rules.append(rf"\cmidrule(lr){{{at}-{at + wide - 1}}}")
        at += wide
    grouped = any(column.group for column in columns)
    groups = [" & ".join(spans) + r" \\", "".join(rules)] if grouped else []
    head = [r"\toprule", *groups, " & ".join(heads) + r" \\", r"\midrule"]
    rows = []
    for at, label in enumerate(columns[0].cells):
        # A rule divides the values from what sums them up.
        is_last = at and "value" == table.lines[at - 1].kind != table.lines[at].kind
        rows += [r"\midrule"] if is_last else []
        places = [column.place(at, marker) for column in columns[1:]]
        rows.append(" & ".join([latex_prose(label.text, marker), *places]) + r" \\")
    out = [rf"{{{size.command}\setlength{{\tabcolsep}}{{{size.gap_pt / 2:g}pt}}%"]
    shape = f"{{@{{}}{''.join(column.type_of(size) for column in columns)}@{{}}}}"
    caption = latex_prose(table.title, marker)
    lines_of_text = sum(
        max(-(-shown_characters(c.cells[at].text) // max(1, c.characters)) or 1 for c in columns)
        for at in range(len(columns[0].cells))
    )
    if lines_of_text <= _SHORT_TABLE_LINES:
        # In a box, columns are aligned after one run of LaTeX, and no page break divides the table.
        out += [r"\begin{minipage}{\textwidth}\centering"]
        out += [rf"\captionoftable{{{caption}}}\smallskip", rf"\begin{{tabular}}{shape}"]
        out += [*head, *rows, r"\bottomrule", r"\end{tabular}", r"\end{minipage}\par\smallskip"]
    else:
        out += [rf"\begin{{longtable}}{shape}", rf"\caption{{{caption}}}\\"]
        out += [*head, r"\endfirsthead", *head, r"\endhead"]
        out += [r"\midrule", r"\endfoot", r"\bottomrule", r"\endlastfoot", *rows]
        out += [r"\end{longtable}"]
    letters = {letter for c in columns for cell in c.cells for letter in cell.letters}
    out += [
        rf"\textsuperscript{{{letter}}}~{latex_prose(sentence, marker)}\par"
        for letter, sentence in table.footnotes
        if letter in letters
    ]
    return "\n".join([*out, r"\bigskip}", ""])
