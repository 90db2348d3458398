"""Times how long the report's page and one of its cells take to open: `make benchmark-page`.

Headless Chromium opens two pages from disk: the page of the lab report's 416 cells measured in the
lab, and the page of a generated run of 10,000 cells with all values that a probe reports for a
stream. ``--pictures DIR`` takes the pictures of the documentation instead: on a desktop, of a cell,
on a phone, on paper.
"""

from __future__ import annotations

import argparse
import io
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.cost.speed import LARGE_CELLS, make_large
from benchmarks.stage import ROOT, Verdict, finish, netlab, table

sys.path.insert(0, str(ROOT / "tests" / "support"))
from browser import Browser, Tab, a_browser

MOST_LOAD_S, MOST_SEEN_S, MOST_BYTES = 1.0, 0.3, 1_500_000
MOST_LARGE_SEEN_S, MOST_OPEN_S = 2.0, 0.5
CELLS_OPENED = 20
FIRST_SCREENS = tuple(sorted(run.parent.name for run in ROOT.glob("reports/*/run.json")))
"""Recorded runs whose first screens are in the documentation, for a desktop and a phone."""

_LOADED = "performance.getEntriesByType('navigation')[0].loadEventEnd / 1e3"
_SEEN = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime / 1e3"
_DRAWN = "new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)))"


@dataclass(frozen=True, slots=True)
class Screen:
    """The size of a screen, and the width of its picture in the documentation."""

    size_px: tuple[int, int]
    width_px: int


SCREENS = {"desk": Screen((1400, 900), 760), "phone": Screen((390, 844), 300)}


@dataclass(frozen=True, slots=True)
class Figures:
    """The size of a page, and times in seconds that a person waits for."""

    page_bytes: int
    load_s: list[float]
    """From the start until the page is loaded and laid out."""
    seen_s: list[float]
    """From the start until the first words are visible."""
    open_s: list[float]
    """From the click on a figure until its record is drawn."""


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words.add_argument("--rounds", type=int, default=5)
    words.add_argument("--cells", type=int, default=LARGE_CELLS)
    words.add_argument("--pictures", type=Path)
    arguments = words.parse_args()
    if arguments.pictures is not None:
        return take_pictures(arguments.pictures)
    with tempfile.TemporaryDirectory() as scratch, a_browser() as browser:
        small, large = Path(scratch) / "run", Path(scratch) / "large"
        shutil.copytree(ROOT / "reports" / "lab-report-lab", small)
        make_large(large, arguments.cells)
        figures_by_page = {}
        for name, folder in (("416 cells", small), (f"{arguments.cells:,} cells", large)):
            netlab("report", str(folder))
            figures_by_page[name] = measured(browser, folder / "index.html", arguments.rounds)
    rows = [
        [
            name,
            f"{page_figures.page_bytes / 1e6:.1f}",
            *(seconds(f) for f in (page_figures.seen_s, page_figures.load_s, page_figures.open_s)),
        ]
        for name, page_figures in figures_by_page.items()
    ]
    print(table(["page", "MB", "first words, s", "loaded, s", "a cell opened, s"], rows))
    small_one, large_one = figures_by_page.values()
    return finish(
        [
            under(max(small_one.load_s), MOST_LOAD_S, "416 cells loaded"),
            under(
                statistics.median(small_one.seen_s), MOST_SEEN_S, "first words of 416 cells seen"
            ),
            Verdict(
                small_one.page_bytes <= MOST_BYTES,
                f"the page of 416 cells has {MOST_BYTES / 1e6:g} MB at most",
                f"{small_one.page_bytes / 1e6:.2f} MB",
            ),
            under(
                max(large_one.seen_s),
                MOST_LARGE_SEEN_S,
                f"first words of {arguments.cells:,} cells seen",
            ),
            under(
                statistics.median(large_one.open_s),
                MOST_OPEN_S,
                f"a cell of {arguments.cells:,} opened (median)",
            ),
        ],
        f"page: 416 cells loaded in {seconds(small_one.load_s)} s, {arguments.cells} cells in "
        f"{seconds(large_one.load_s)} s, a cell of these opened in {seconds(large_one.open_s)} s",
    )


def take_pictures(folder: Path) -> int:
    """Take the pictures of the documentation, as PNG files with few colours, which are small."""
    with tempfile.TemporaryDirectory() as scratch, a_browser() as browser:
        pages = {}
        for name in (
            *(f"reports/{report}" for report in FIRST_SCREENS),
            "tests/fixtures/limits-linux",
        ):
            copy = Path(scratch) / Path(name).name
            shutil.copytree(ROOT / name, copy)
            netlab("report", str(copy))
            pages[copy.name] = copy / "index.html"
        desk, phone = (browser.tab(*screen.size_px) for screen in SCREENS.values())
        for name in FIRST_SCREENS:
            for tab, (form, screen) in zip((desk, phone), SCREENS.items(), strict=True):
                tab.open(pages[name])
                save(tab.screenshot(), folder / "first" / form / f"{name}.png", screen.width_px)
        for tab in (desk, phone):
            tab.open(pages["lab-report"])
        save(desk.screenshot(), folder / "page-desktop.png", 760)
        save(phone.screenshot(), folder / "page-phone.png", 300)
        paper = Path(scratch) / "page.pdf"
        paper.write_bytes(desk.printed())
        save(first_page(paper), folder / "page-print.png", 420)
        desk.open(pages["limits-linux"])
        desk.run("document.querySelectorAll('td button[data-cell]')[1].click()")
        desk.until("document.getElementById('cell').open")
        save(desk.screenshot(), folder / "page-cell.png", 760)
    return 0


def first_page(paper: Path) -> bytes:
    """The first page of a PDF as PNG, by poppler's pdftoppm."""
    command = ["pdftoppm", "-f", "1", "-l", "1", "-r", "110", "-png", str(paper)]
    return subprocess.run(command, capture_output=True, check=True).stdout


def save(png: bytes, path: Path, width_px: int) -> None:
    from PIL import Image  # comes with matplotlib

    picture = Image.open(io.BytesIO(png)).convert("RGB")
    height_px = round(picture.height * width_px / picture.width)
    small = picture.resize((width_px, height_px), Image.Resampling.LANCZOS)
    colours = small.quantize(96, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    path.parent.mkdir(parents=True, exist_ok=True)
    colours.save(path, optimize=True)


def measured(browser: Browser, page: Path, rounds: int) -> Figures:
    load_s, seen_s, open_s = [], [], []
    rng = random.Random(6)  # noqa: S311  (no secret)
    for number in range(rounds + 1):
        tab = browser.tab()
        tab.open(page)
        tab.run(_DRAWN)
        if number:  # the first opening fills the disk's cache
            load_s.append(float(tab.run(_LOADED)))
            seen_s.append(float(tab.run(_SEEN) or load_s[-1]))
        if number == rounds:
            cells = int(tab.run("document.getElementById('cell').dataset.cells"))
            open_s = [opened(tab, rng.randrange(cells)) for _ in range(CELLS_OPENED)]
        tab.close()
    return Figures(page.stat().st_size, load_s, seen_s, open_s)


def opened(tab: Tab, place: int) -> float:
    begin = time.monotonic()
    tab.run(
        f"document.querySelector('button[data-cell=\"{place}\"]').click();"
        " (async () => { const cell = document.getElementById('cell');"
        f" while (!cell.open) await {_DRAWN}; await {_DRAWN}; }})()"
    )
    elapsed_s = time.monotonic() - begin
    tab.run("document.getElementById('cell').close()")
    return elapsed_s


def seconds(values: list[float]) -> str:
    """``0.12 (0.15 at most)``."""
    return f"{statistics.median(values):.2f} ({max(values):.2f} at most)"


def under(most_measured_s: float, most_s: float, subject: str) -> Verdict:
    return Verdict(
        most_measured_s < most_s, f"{subject} in under {most_s:g} s", f"{most_measured_s:.2f} s"
    )


if __name__ == "__main__":
    sys.exit(main())
