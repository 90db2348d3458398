"""The pages of docs/reference about kinds of test: their example, their keys, what they name."""

from __future__ import annotations

import re
from pathlib import Path

from folders import DOCS

PAGES = {
    "stream": "stream",
    "round-trip": "round_trip",
    "connect": "connect",
    "throughput-search": "throughput_search",
    "payload-search": "payload_search",
    "latency-under-load": "latency_under_load",
}
"""Page → the kind of test that it is about."""
CAPTURE = "capture"


def page(name: str) -> Path:
    return DOCS / "reference" / f"{name}.md"


def section(name: str, title: str) -> str:
    """The text under a title of the second order; an error where the page has none."""
    match = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", page(name).read_text("utf-8"), re.M | re.S)
    assert match is not None, (name, title)
    return match[1]


def example(name: str) -> tuple[str, str]:
    """The matrix that a page shows, and the command that runs it."""
    text = page(name).read_text("utf-8")
    (matrix,) = re.findall(r"^```yaml\n(.*?)^```$", text, re.M | re.S)
    (command,) = re.findall(r"^```\n((?:sudo )?netlab .*?)\n```$", text, re.M | re.S)
    return matrix, command


def columns(name: str) -> list[str]:
    """The columns that a page's table of the record names, in its first cells."""
    cells = re.findall(r"^\| (`.*?) \|", section(name, "Columns"), re.M)
    return re.findall(r"`([a-z0-9_]+)`", " ".join(cells))
