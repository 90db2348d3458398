"""`make site` makes a page of every text, checks every link and loads nothing from the network."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from folders import DOCS, ROOT

pytestmark = pytest.mark.needs("site")

READ = ("benchmarks", "docs", "matrices", "reports")
"""Folders that the site is made from, beside the texts at the top."""
FILLED = runpy.run_path(str(DOCS / "scripts" / "code_map.py"))["filled"]
TEXTS = sorted(path.relative_to(ROOT) for path in (*ROOT.glob("*.md"), *DOCS.rglob("*.md")))


def build(root: Path, into: Path) -> subprocess.CompletedProcess[str]:
    """As the Makefile builds it; elsewhere, so that no other process sees half of it."""
    recipe = re.search(r"/mkdocs (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert recipe is not None
    words = recipe[1].split()
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", *words, "--site-dir", str(into)],
        cwd=root,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    into = tmp_path_factory.mktemp("site")
    process = build(ROOT, into)
    assert process.returncode == 0, process.stderr
    return into


class Fetched(HTMLParser):
    """What a browser fetches to show a page, as its tags say."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag == "link" and attributes.get("rel") not in (
            "canonical",
            "next",
            "prev",
            "alternate",
        ):
            self.addresses.append(attributes.get("href", ""))
        elif tag in ("script", "img", "iframe", "source", "embed", "object", "video", "audio"):
            self.addresses += [
                attributes[name] for name in ("src", "srcset", "data") if name in attributes
            ]


def fetched_of(page: Path) -> list[str]:
    parser = Fetched()
    parser.feed(page.read_text("utf-8"))
    return parser.addresses


def of_network(address: str) -> bool:
    return re.match(r"\s*([a-z]+:)?//", address, re.IGNORECASE) is not None


def test_every_text_becomes_a_page_of_the_site_and_is_in_a_menu(site: Path) -> None:
    pages = [site / path.with_suffix(".html") for path in TEXTS]
    pages = [page.with_name("index.html") if page.stem == "README" else page for page in pages]
    assert [page for page in pages if not page.is_file()] == []
    menu = (site / "index.html").read_text("utf-8")
    names = [page.relative_to(site).as_posix() for page in pages]
    assert [name for name in names if f'href="{name}"' not in menu and name != "index.html"] == []


def test_the_site_loads_no_script_style_font_or_picture_from_the_network(site: Path) -> None:
    assert of_network("//cdn.example/x.js")
    assert of_network("https://fonts.example/x.woff")
    assert not of_network("assets/x.js")
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > len(TEXTS)
    fetched = {page: fetched_of(page) for page in pages}
    assert sum(map(len, fetched.values())) > 3 * len(TEXTS)
    assert {page: its for page, its in fetched.items() if any(map(of_network, its))} == {}
    for style in site.rglob("*.css"):
        text = style.read_text("utf-8")
        assert not re.search(r"(url\(\s*['\"]?|@import\s+['\"])(https?:)?//", text), style


def test_every_file_that_a_page_of_the_site_loads_exists(site: Path) -> None:
    for page in site.rglob("*.html"):
        local = [address.partition("#")[0].partition("?")[0] for address in fetched_of(page)]
        dead_addresses = [
            address
            for address in local
            if address
            and not address.startswith(("data:", "/"))
            and not (page.parent / address).exists()
        ]
        assert dead_addresses == [], page


def test_the_site_renders_lists_and_tables_that_follow_text_without_a_blank_line(
    site: Path,
) -> None:
    for text in TEXTS:
        if text.name == "README.md":
            continue
        body = (site / text.with_suffix(".html")).read_text("utf-8")
        source = FILLED((ROOT / text).read_text("utf-8"))
        heads = re.findall(r"^\s*\|(?:-+\|)+$", source, re.MULTILINE)
        assert body.count("<table>") == len(heads), text
        prose = re.sub(r"<pre.*?</pre>|<code.*?</code>", "", body, flags=re.DOTALL)
        assert not re.search(r"^(<p>)?(\|[ -]|- |\d+\. )", prose, re.MULTILINE), text


def test_the_site_and_its_search_have_the_lists_that_no_text_has(
    site: Path,
) -> None:
    index = (site / "search" / "search_index.json").read_text("utf-8")
    for page, words in {
        "commands": ("netlab import iperf3", "--patience"),
        "reference/columns": ("rtt_p99_ns", "back_to_back_frames", "loaded_rtt_p50_ns"),
        "reference/findings": ("cpu-wait/receiver-quota", "CoDel's target"),
        "truths": ("cable-a-step-below", "short-backlog"),
        "files": ("netlab/store/", "run_folder.py"),
    }.items():
        body = (site / "docs" / page).with_suffix(".html").read_text("utf-8")
        for word in words:
            assert word in re.sub(r"<[^>]+>", "", body), (page, word)
            assert word in index, (page, word)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What the site is made from, to be spoiled."""
    copy = tmp_path / "checkout"
    for folder in READ:
        shutil.copytree(ROOT / folder, copy / folder)
    for path in (*ROOT.glob("*.md"), ROOT / "LICENSE"):
        shutil.copy(path, copy)
    return copy


def test_dead_links_and_pages_outside_every_menu_stop_the_site(
    checkout: Path, tmp_path: Path
) -> None:
    links = {
        "[there](nowhere.md)": "nowhere.md",
        "[there](matrix.md#nothing-of-that-name)": "nothing-of-that-name",
        "![there](pictures/nothing.png)": "pictures/nothing.png",
    }
    page = checkout / "docs" / "hosts.md"
    page.write_text(page.read_text("utf-8") + "".join(f"\n{link}\n" for link in links), "utf-8")
    (checkout / "docs" / "reference" / "forgotten.md").write_text("# Forgotten\n")
    process = build(checkout, tmp_path / "site")
    assert process.returncode == 1
    assert "Aborted with 4 warnings in strict mode" in process.stdout + process.stderr
    warnings = [line for line in process.stderr.splitlines() if line.startswith("WARNING")]
    for target in links.values():
        assert [line for line in warnings if "docs/hosts.md" in line and target in line], target
    assert "docs/reference/forgotten.md" in process.stderr


@pytest.mark.needs("chromium")
def test_pages_of_the_site_open_from_disk_without_any_request_to_the_network(site: Path) -> None:
    from browser import a_browser

    with a_browser() as browser:
        for name in (
            "index.html",
            "docs/notebooks/first-run.html",
            "docs/explanation/gallery.html",
        ):
            tab = browser.tab()
            tab.open(site / name)
            tab.until("document.readyState === 'complete'")
            assert [url for url in tab.asked_for if not url.startswith("file:")] == []
            assert len(tab.asked_for) > 3
            assert tab.complaints == []
            # The theme's own style is at work, and every picture came.
            assert tab.run("getComputedStyle(document.querySelector('.md-header')).position") == (
                "sticky"
            )
            assert tab.run("[...document.images].filter(each => !each.naturalWidth).length") == 0
            tab.close()


def ci_lines() -> Iterator[str]:
    for line in (ROOT / ".ci" / "run").read_text().splitlines():
        if not line.lstrip().startswith("#"):
            yield line.strip()


def test_ci_builds_the_site() -> None:
    assert any(re.match(r"make .*\bsite\b", line) for line in ci_lines())
