"""Compares what reports say before and after a change: `python -m benchmarks.cost.same_reports`.

``keep FILE`` makes the reports of all recorded runs, and of three runs made from them (one with
damaged records, one with segments, the same as a large run), and keeps what they say in a zip file
of texts. ``compare FILE`` makes them again and prints unified diffs of three parts:

- figures, which must be the same: tables in text, Markdown, LaTeX and CSV, the exported table, the
  data of the page and the findings. The exit status is 1 if a figure differs.
- drawings: the coordinates of the charts and of the pictures within the page. Nothing is drawn.
- words: sentences, headings, and the names of the kinds of findings with their order.

The base of a change is what the code said before it. ``--tree`` is the folder whose netlab makes
the reports; the recorded runs are those of this repository::

    git worktree add --detach /tmp/before f52b109d
    python -m benchmarks.cost.same_reports keep before.zip --tree /tmp/before
    python -m benchmarks.cost.same_reports compare before.zip --kinds renamed.json

``--kinds`` names a JSON object, old name of a kind → new name. With it, the kind of each finding is
a figure as well. ``--runs`` chooses runs by name. The last line of ``compare`` counts what differs.
"""

from __future__ import annotations

import argparse
import base64
import difflib
import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.stage import ROOT
from netlab.results.arrow.segment_writer import compact

FIGURES, DRAWINGS, WORDS = "figures", "drawings", "words"
RECORDED = tuple(sorted(path.parent.name for path in (ROOT / "reports").glob("*/run.json")))
DAMAGED, SEGMENTED, LARGE = "damaged", "segmented", "large"
MADE = {DAMAGED: "nettest-lab", SEGMENTED: "connection-kinds-lab", LARGE: "connection-kinds-lab"}
"""Run made by this program → the recorded run that it is made from."""
NO_REPORT = {"run.json", "matrix.yaml", "journal.jsonl", "lock"}
"""Files of a run folder that are no part of its report."""
COMMANDS = {"report.txt": "report", "export.csv": "export", "findings.json": "report --json"}
"""Text that a command prints → the command."""
UNDRAWN = str(Path(__file__).with_name("netlab_undrawn.py"))
MOST_S = 3600
MOST_SHOWN = 60
"""Lines of the diff of one text that are printed without ``--all``."""
MOST_WIDE = 400
"""Characters of a line of a diff that are printed."""

PACKED = "H4sI"
"""The first characters of gzipped data in base64."""

_SENTENCE = re.compile(r"(?:[^\W\d_]+[,;:]? ){5}[^\W\d_]")
_PICTURE = re.compile(r"<(svg|rect|path|line|circle|text|pattern)\b")
_ROW = re.compile(r"<t[dhr]\b")
_HEADING = re.compile(r"\\(sub)*section|\\caption")
_NUMBER = re.compile(r"\d[\d.,]*")
_ELEMENT = re.compile(r"<(script|style)\b[^>]*>.*?</\1>|<!--.*?-->", re.S)
_PAGE_DATA = re.compile(
    r'<script type="application/json" id="(cells|charts-data)">(.*?)</script>', re.S
)
_DRAWN = re.compile(r"data:image/svg\+xml,[^\"]+")

Texts = dict[str, str]
"""Name of a text, ``run/part/file`` → the text."""


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words.add_argument("task", choices=["keep", "compare"])
    words.add_argument("file", type=Path, help="what the reports said")
    words.add_argument("--tree", type=Path, default=ROOT, help="folder whose netlab is asked")
    words.add_argument("--runs", nargs="+", choices=[*RECORDED, *MADE], help="only these runs")
    words.add_argument("--kinds", type=Path, help="JSON: old name of a kind → its new name")
    words.add_argument("--all", action="store_true", help="print whole diffs")
    arguments = words.parse_args()
    runs = arguments.runs or [*RECORDED, *MADE]
    texts = said_by(runs, arguments.tree.resolve())
    if arguments.task == "keep":
        write(arguments.file, texts)
        print(f"{arguments.file}: {len(texts)} texts of {len(runs)} runs")
        return 0
    kinds = json.loads(arguments.kinds.read_text("utf-8")) if arguments.kinds else None
    before = {name: t for name, t in read(arguments.file).items() if name.partition("/")[0] in runs}
    return compare(before, texts, kinds, most=None if arguments.all else MOST_SHOWN)


def said_by(runs: Sequence[str], tree: Path) -> Texts:
    """Make the reports of runs in a scratch folder with the netlab of ``tree``; what they say."""
    with tempfile.TemporaryDirectory() as scratch:
        folders = [made(name, Path(scratch)) for name in runs]
        jobs = [
            ([*words.split(), str(folder)], f"{folder}.{text}", folder.name == LARGE)
            for folder in folders
            for text, words in COMMANDS.items()
        ]
        (Path(scratch) / "jobs").write_text(json.dumps(jobs), "utf-8")
        subprocess.run(
            [sys.executable, "-P", UNDRAWN, f"{scratch}/jobs"],
            cwd=tree,
            env={**os.environ, "PYTHONPATH": str(tree)},
            timeout=MOST_S,
            check=True,
        )
        texts = {}
        for folder in folders:
            parts = {
                part: text
                for file in COMMANDS
                for part, text in parts_of(file, Path(f"{folder}.{file}").read_bytes()).items()
            }
            for path in sorted(folder.rglob("*")):
                file = str(path.relative_to(folder))
                if path.is_file() and file not in NO_REPORT and not file.startswith("segments"):
                    parts |= parts_of(file, path.read_bytes())
            for part, text in parts.items():
                texts[f"{folder.name}/{part}"] = text.replace(scratch, "")
        return texts


def made(name: str, into: Path) -> Path:
    """The folder of a recorded run without its report, or of a run made from one."""
    folder = into / name
    folder.mkdir()
    for file in ("run.json", "matrix.yaml", "journal.jsonl"):
        recorded = ROOT / "reports" / MADE.get(name, name) / file
        if recorded.exists():
            shutil.copy(recorded, folder)
    if name == DAMAGED:
        damage(folder / "journal.jsonl")
    elif name in MADE and not compact(folder, least_bytes=1, least_lines=1):
        raise SystemExit(f"{name}: no segment was made; it needs pyarrow")
    return folder


def damage(journal: Path) -> None:
    """Plant damage: a changed byte, a line that is no JSON, a value of a false type, a torn end."""
    lines = journal.read_bytes().splitlines(keepends=True)
    records = [k for k, line in enumerate(lines) if b'"kind":"record"' in line]
    changed, false = records[3], records[5]
    at = lines[changed].rindex(b'"values":') + 200
    lines[changed] = lines[changed][:at] + b"#" + lines[changed][at + 1 :]
    body = json.loads(lines[false][9:])
    body["values"]["elapsed_ns"] = "soon"
    text = json.dumps(body, separators=(",", ":")).encode("ascii")
    lines[false] = b"%08x %s\n" % (zlib.crc32(text), text)
    lines.insert(records[7], b"00000000 {\n")
    lines[-1] = lines[-1][: len(lines[-1]) // 2]
    journal.write_bytes(b"".join(lines))


def parts_of(file: str, data: bytes) -> Texts:
    """The texts of one file of a report, by part."""
    if file.endswith((".png", ".pdf", ".svg")):
        return split(file, data.decode("utf-8")) if file.endswith(".svg") else {}
    text = data.decode("utf-8")
    if file.endswith(".html"):
        return page_parts(file, text)
    if file.endswith((".csv", ".json")) and file != "figures.csv":
        return {f"{FIGURES}/{file}": text}
    return split(file, text)


def split(file: str, text: str) -> Texts:
    """The lines of a document: its tables, and its sentences and headings."""
    parts: dict[str, list[str]] = {FIGURES: [], DRAWINGS: [], WORDS: []}
    for line in text.splitlines():
        parts[part_of(file, line)].append(narrow(line))
    return {f"{part}/{file}": "\n".join(lines) + "\n" for part, lines in parts.items() if lines}


def narrow(line: str) -> str:
    """The line without the spaces that align columns, and without digests of scripts."""
    return re.sub(r"sha256-[^']+", "sha256", re.sub(r"(?<= ) +|(?<=--)-+", "", line))


def part_of(file: str, line: str) -> str:
    """The part of a line: a row of a table without a sentence has figures."""
    form = file.rpartition(".")[2]
    is_figure: bool
    match form:
        case "svg":
            return WORDS if line.startswith("Text") and not line[5:6].isdigit() else DRAWINGS
        case "html" if _PICTURE.search(line):
            return DRAWINGS
        case "html":
            is_figure = _ROW.search(line) is not None
        case "md":
            is_figure = line.startswith("|")
        case "tex":
            is_figure = _HEADING.search(line) is None
        case "csv":
            is_figure = not line.startswith("Findings,")
        case _:
            is_figure = True
    return FIGURES if is_figure and not _SENTENCE.search(line) else WORDS


def page_parts(file: str, html: str) -> Texts:
    """The texts of a page: its document, and the data that it shows when a cell is opened."""
    texts: Texts = {}
    for name, data in _PAGE_DATA.findall(html):
        lines: list[str] = []
        sentences: list[str] = []
        for line in data_lines(
            name, unpacked(data if data.startswith(PACKED) else json.loads(data))
        ):
            (sentences if is_said(line) else lines).append(line)
        texts[f"{FIGURES}/{file}.{name}"] = "\n".join(lines) + "\n"
        texts[f"{WORDS}/{file}.{name}"] = "\n".join(sentences) + "\n"
    document = _DRAWN.sub("drawing", _ELEMENT.sub("", html))
    return texts | split(file, "\n".join(filter(None, map(str.rstrip, document.splitlines()))))


def is_said(line: str) -> bool:
    """Whether a line of the page's data is a sentence, or a finding of a cell (whose figures are
    compared as findings).
    """
    return ".findings" in line.partition(": ")[0] or _SENTENCE.search(line) is not None


def unpacked(data: Any) -> Any:
    """The page's data with its packed pieces opened. The values of a trial get their names."""
    if isinstance(data, str) and data.startswith(PACKED):
        data = json.loads(gzip.decompress(base64.b64decode(data)))
    if isinstance(data, list):
        return [unpacked(each) for each in data]
    if isinstance(data, dict):
        shapes = data.pop("shapes", None)
        for trial in (
            (trial for cell in data["cells"] for trial in cell["trials"]) if shapes else ()
        ):
            if "values" in trial:
                names = shapes[trial.pop("shape")]
                trial["values"] = dict(zip(names, trial["values"], strict=True))
        return {name: unpacked(value) for name, value in data.items()}
    return data


def data_lines(name: str, data: Any) -> Iterator[str]:
    """One line for each value: where it is, and the value. Values of the page without a gap."""
    text = json.dumps(data, ensure_ascii=False)
    if isinstance(data, dict) and data and len(text) > 100:
        for key, value in data.items():
            yield from data_lines(f"{name}.{key}", value)
    elif isinstance(data, list) and any(isinstance(each, (list, dict)) for each in data):
        for place, value in enumerate(data):
            yield from data_lines(f"{name}[{place}]", value)
    else:
        yield f"{name}: {text}"


def findings_texts(name: str, text: str, kinds: Mapping[str, str] | None) -> Texts:
    """The findings of a run: what they measure, in an order of its own, and how they say it.

    ``kinds``: names to read as others; ``None``: the kind is a word.
    """
    run = name.partition("/")[0]
    figures, words = [], []
    for finding in json.loads(text):
        said = {word: finding.pop(word) for word in ("kind", "words", "sentence", "advice")}
        if value := finding.pop("value", ""):
            said["kind"] += f"/{value}"
        words.append(json.dumps(said, ensure_ascii=False))
        if kinds is not None:
            finding["kind"] = kinds.get(said["kind"], said["kind"])
        for place in ("cells", "trials"):
            finding[place] = len(finding[place]), digest(finding[place])
        figures.append(json.dumps(finding, ensure_ascii=False))
    return {
        f"{run}/{FIGURES}/findings.txt": "\n".join(sorted(figures)) + "\n",
        f"{run}/{WORDS}/findings.txt": "\n".join(words) + "\n",
    }


def digest(data: object) -> str:
    return hashlib.sha256(json.dumps(data).encode()).hexdigest()[:12]


def write(file: Path, texts: Texts) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in texts.items():
            archive.writestr(name, text)


def read(file: Path) -> Texts:
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name).decode("utf-8") for name in archive.namelist()}


def compare(
    before: Texts, after: Texts, kinds: Mapping[str, str] | None = None, most: int | None = None
) -> int:
    """Print what differs, part by part. Returns the exit status: 1 if figures differ."""
    sides = [opened(before, kinds), opened(after, kinds)]
    counts = {}
    for part, title in (
        (FIGURES, "FIGURES, which must be the same"),
        (DRAWINGS, "DRAWINGS"),
        (WORDS, "WORDS"),
    ):
        names = sorted({name for side in sides for name in side if f"/{part}/" in name})
        differing = [name for name in names if sides[0].get(name) != sides[1].get(name)]
        counts[part] = len(differing)
        print(f"== {title}: {len(differing)} of {len(names)} texts differ")
        for name in differing:
            show(name, *(side.get(name, "") for side in sides), most=most)
    print(", ".join(f"{part}: {count} texts differ" for part, count in counts.items()))
    return 1 if counts[FIGURES] else 0


def opened(texts: Texts, kinds: Mapping[str, str] | None) -> Texts:
    """The kept texts as they are compared."""
    result: Texts = {}
    for name, text in texts.items():
        is_findings = name.endswith("/findings.json")
        result |= findings_texts(name, text, kinds) if is_findings else {name: text}
    return result


def show(name: str, before: str, after: str, *, most: int | None) -> None:
    """Print the diff of a text, and how many of its changed lines have other numbers."""
    changed = [
        line
        for line in difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
        if not line.startswith(("---", "+++", "@@"))
    ]
    gone, new = (
        sorted(_NUMBER.findall(" ".join(line[1:] for line in changed if line[0] == sign)))
        for sign in "-+"
    )
    numbers = "the numbers differ" if gone != new else "the numbers are the same"
    print(f"-- {name}: {len(changed)} lines, {numbers}")
    for line in islice(changed, most):
        print(line[:MOST_WIDE])
    if most is not None and len(changed) > most:
        print(f"… {len(changed) - most} more lines (--all)")


if __name__ == "__main__":
    sys.exit(main())
