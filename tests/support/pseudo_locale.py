"""A made-up language, and the parts of a run that no language changes: names, units, figures."""

from __future__ import annotations

import base64
import gettext
import gzip
import html.parser
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from typing import Any

from babel.messages.pofile import read_po
from folders import FIXTURES, REPORTS

from netlab.config.matrix_file import comparisons_in
from netlab.errors import MatrixError
from netlab.experiment.hosts import is_by_name, labels_of
from netlab.findings.analysis import Analysis
from netlab.report.language import FOLDER
from netlab.results.labels import NAMING
from netlab.results.run import Run
from netlab.store.plan import stated_facts_of
from netlab.trial.record import REASONS
from netlab.version import VERSION

RUNS = sorted(path.parent for folder in (FIXTURES, REPORTS) for path in folder.glob("*/run.json"))

NEUTRAL = re.compile(
    r"[-+−±]?\d[\d.,]*(e[-+]?\d+)?(/s)?|\d+/\d+|[-+±×%↔→–—/:;,.()=&|]|TCP|UDP|RFC|MTU|DSCP|IP|CPU|IPv[46]"
    r"|\d{4}-\d\d-\d\d(T[\d:.]+Z)?|[\da-f:]*:[\da-f:]+|[A-Z]|[KMG]iB|[kM]?B|[kMGT]?bit/s|byte/s|[mµun]?s|min|h|/s|1/s|ppm|Linux|Windows|FreeBSD|macOS"
)
"""Words of every language."""

PLACE = re.compile(r"(\{\w+\}|%\(\w+\)s)")
"""Of a value in a message, or in a text of a template of the page."""


@cache
def texts_of_catalogues() -> frozenset[str]:
    """Every text that a catalogue of this netlab can translate."""
    with (FOLDER / "de.po").open("rb") as file:
        messages = [message.id for message in read_po(file)]
    texts = [ids if isinstance(ids, list | tuple) else (ids,) for ids in messages]
    return frozenset(text for forms in texts for text in forms if text)


class Pseudo(gettext.NullTranslations):
    """Says the words of every message between brackets that no text has, and no value in them.

    A message that is in no catalogue stays as it is: it was put together where no catalogue sees
    it.
    """

    def gettext(self, message: str) -> str:
        if message not in texts_of_catalogues():
            return message
        parts = PLACE.split(message)
        return "".join(
            part if not part.strip() or PLACE.fullmatch(part) else f"⟦{part}⟧" for part in parts
        )

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return self.gettext(msgid1 if n == 1 else msgid2)


@cache
def any_of(names: frozenset[str]) -> re.Pattern[str]:
    """Any of these names, the longest first."""
    long = sorted((name for name in names if len(name) > 1), key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, long))})(?!\w)")


def unsaid(text: str, names: frozenset[str]) -> str:
    """What of a text is in no brackets, and no name, figure or unit; empty where all is said."""
    text = re.sub(r"⟦[^⟦⟧]*⟧", " ", text)
    if text.strip() in names or not _words_of_a_language(text):
        return ""
    return _words_of_a_language(any_of(names).sub(" ", text))


def _words_of_a_language(text: str) -> str:
    words = ((word, word.strip("()[],;:.")) for word in text.split())
    return " ".join(word for word, bare in words if bare and not NEUTRAL.fullmatch(bare))


def omissions(texts: Iterable[tuple[str, str]], names: frozenset[str]) -> dict[str, str]:
    """Text that is not all said → its place. Each text is looked at once."""
    places = {text: place for place, text in texts}
    return {text: place for text, place in places.items() if unsaid(text, names)}


def names_of(run: Analysis) -> frozenset[str]:
    """What stays as it is: names, keys, values of settings that are names, words of reasons."""
    keys = {cell.key for cell in run.plan.cells}
    details = {str(record.detail) for record in run.records if record.detail}
    texts = {VERSION, run.plan.content_hash[:12], run.plan.title, run.plan.source or ""}
    with suppress(MatrixError):
        text = run.plan.matrix_text
        texts |= {comparison.name for comparison in comparisons_in(text, "matrix.yaml") if text}
    note_words = {*leaves([*run.sessions, *({"host": note["host"]} for note in run.facts)])}
    note_words |= {str(note.get("facts", {}).get("virtual", "")) for note in run.facts}
    return frozenset({*_names_in(run), *keys, *REASONS, *details, *texts, *note_words} - {""})


def leaves(note: Any) -> Iterator[str]:
    """Every key and every text of what was noted."""
    if isinstance(note, Mapping):
        for key, value in note.items():
            yield str(key)
            yield from leaves(value)
    elif isinstance(note, list):
        for entry in note:
            yield from leaves(entry)
    elif isinstance(note, str):
        yield note


def _names_in(run: Run) -> frozenset[str]:
    """What a run calls by a name of its own: pairings, hosts, interfaces; and word for word what a
    document says beside an imported table, or a record says of another tool.
    """
    cells, remarks = run.plan.cells, stated_facts_of(run.plan).remarks
    pairings = {cell.pairing for cell in cells}
    hosts = {name for pairing in pairings if is_by_name(pairing) for name in labels_of(pairing)}
    hosts |= {name for record in run.records for name in (record.server, record.client)}
    setting_values = {str(cell.settings.get(name, "")) for cell in cells for name in sorted(NAMING)}
    quotes = {
        words for remark in remarks for words in (remark.text, remark.source, *remark.pairings)
    }
    quotes |= {
        str(value)
        for record in run.records
        for name, value in record.values.items()
        if name.endswith(("engine_version", "engine_remarks"))
    }
    return frozenset({*pairings, *hosts, *setting_values, *quotes})


GROUP = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}"
"""Braces, with two levels of them inside."""

NO_TEXT = re.compile(
    rf"\\(?:begin|end)\{{\w+\*?\}}(?:\[[^]]*\]|{GROUP})*"
    rf"|\\(?:includegraphics|setlength|textsuperscript|num|cmidrule\(lr\))(?:\[[^]]*\]|{GROUP})+"
    r"|\\IfFileExists\{[^}]*\}|\\multicolumn\{\d+\}\{\w\}|\$[^$]*\$|(?<!\\)%$",
    re.MULTILINE,
)
QUANTITY = re.compile(r"\\qty\{([^{}]*)\}\{([^{}]*)\}")
CODED = re.compile(r"\{\[\}U\+([0-9A-F]{4,6})\{\]\}(?:\\allowbreak\{\})?")
"""A character that not every engine can set, named by its code."""

SIGNS = {
    r"\textbackslash{}": "\\",
    r"\textasciitilde{}": "~",
    r"\textasciicircum{}": "^",
    r"\textless{}": "<",
    r"\textgreater{}": ">",
    r"\textbar{}": "|",
    r"\dots{}": "…",
    r"\_": "_",
    r"\%": "%",
    r"\&": "＆",
    r"\#": "#",
    "``": "“",
    "''": "”",
    "'": "’",
    "--": "–",
    "~": " ",
}


def texts_of_latex(document: str) -> Iterator[str]:
    """Headings, captions, sentences and the places of tables, each once where it is."""
    body = document.partition(r"\begin{document}")[2].replace("-\\\\", "-")
    body = body.replace(" \\\\\n", "\n").replace("\\\\", " ")
    body = NO_TEXT.sub(" ", CODED.sub(lambda code: chr(int(code[1], 16)), body))
    body = QUANTITY.sub(r"\1 \2", body).replace(r"\percent", "%").replace(r"\micro\second", "µs")
    body = body.replace(" +- ", " ± ")
    for macro, sign in SIGNS.items():
        body = body.replace(macro, sign)
    for text in re.split(r"[\n&]", re.sub(r"\\[A-Za-z]+\*?|[{}]|\\,", "", body)):
        if text.strip():
            yield text.strip().replace("＆", "&")


def texts_of_markdown(document: str) -> Iterator[str]:
    """Headings, sentences and the places of tables; of a picture its description."""
    for line in document.splitlines():
        bare = re.sub(r"\]\([^)]*\)|<[^>]*>|\*[a-z]{1,2}(?:,[a-z]{1,2})*\*", " ", line)
        for text in re.split(r"(?<!\\)\|", bare):
            words = re.sub(r"\\(.)|[*`]|!?\[", r"\1", text.lstrip("#- >")).strip("- :")
            if words:
                yield words


class Visible(html.parser.HTMLParser):
    """The texts of a page that a reader sees or hears."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in {"meta", "link", "br", "img", "input", "col", "hr"}:
            self._open.append(tag)
        for name, value in attrs:
            if name in {"alt", "title", "aria-label", "placeholder"} and value:
                self.found.append((f"{tag}@{name}", value))

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if data.strip() and not {"script", "style", "code", "pre"} & {*self._open}:
            self.found.append((">".join(self._open[-2:]), data.strip()))


CELLS = re.compile(r'<script type="application/json" id="cells">(.*?)</script>', re.DOTALL)


def cells_of_page(page: str) -> Iterator[dict[str, Any]]:
    """The data of each cell, as the page's script reads them."""
    (text,) = CELLS.findall(page)
    for _first, data in json.loads(text):
        yield from json.loads(gzip.decompress(base64.b64decode(data)))["cells"]


def texts_of_cell(cell: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(place, text) of all that a reader sees of a cell, except texts of a host."""
    yield "name", cell["name"]
    yield from (("figures", text) for text in cell["figures"])
    for finding in cell["findings"]:
        yield from (("findings", finding["text"]), ("advice", finding["advice"]))
    for name, requested, effective, _differs in cell["settings"]:
        yield from (
            ("setting", name),
            (f"value of {name}", requested),
            (f"effect of {name}", effective),
        )
    for chart in cell["charts"]:
        yield from ((f"chart {axis}", chart[axis]) for axis in ("title", "x", "y"))
        yield from (("line", line["label"]) for line in chart["lines"])
        yield from (("mark", words) for _from, _until, words, _trial in chart.get("marks", ()))
        yield from (("limit", words) for _level, words in chart.get("limits", ()))
    for trial in cell["trials"]:
        yield from ((part, trial[part]) for part in ("status", "why", "ends"))
