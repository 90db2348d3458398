"""The first screens that the documentation shows: each is what the page of its run shows now."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Browser, a_browser
from folders import REPORTS, ROOT
from PIL import Image, ImageChops, ImageStat

from benchmarks.cost.page import FIRST_SCREENS, SCREENS, save
from netlab.findings.analysis import load
from netlab.report import write_report

PICTURES = ROOT / "docs" / "pictures" / "first"
MOST_APART = 0.5
"""Of 255, at the mean: a digit that changed is more on one of the two screens."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with a_browser() as found:
        yield found


@pytest.mark.parametrize("name", FIRST_SCREENS)
def test_a_picture_shows_the_first_screen_as_the_page_has_it(
    browser: Browser, tmp_path: Path, name: str
) -> None:
    copy = tmp_path / "run"
    shutil.copytree(REPORTS / name, copy, ignore=shutil.ignore_patterns("index.html", "charts"))
    page = write_report(load(copy))
    for form, screen in SCREENS.items():
        tab = browser.tab(*screen.size_px)
        tab.open(page)
        save(tab.screenshot(), tmp_path / f"{form}.png", screen.width_px)
        found, shown = (
            Image.open(path).convert("RGB")
            for path in (tmp_path / f"{form}.png", PICTURES / form / f"{name}.png")
        )
        assert found.size == shown.size
        apart = ImageStat.Stat(ImageChops.difference(found, shown)).mean
        assert max(apart) < MOST_APART, "python -m benchmarks.cost.page --pictures docs/pictures"
