"""The figures of docs/explanation are computed or recorded, and terms agree."""

from __future__ import annotations

import re

from folders import DOCS, REPORTS, ROOT

from netlab.ethernet import (
    TAG_BYTES,
    Link,
    ceiling_bit_per_s,
    fragments,
    frames_per_s,
    packet_wire_bytes,
    udp_message_in_frame,
)

WIRE = (DOCS / "explanation" / "wire.md").read_text("utf-8")
GALLERY = (DOCS / "explanation" / "gallery.md").read_text("utf-8")
RUNS = sorted(path.parent.name for path in REPORTS.glob("*/run.json"))


def rows(text: str, columns: int) -> list[list[str]]:
    """The rows of tables with so many columns, without their heads."""
    table_rows = []
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()]
        table_rows += [row for row in cells[2:] if len(row) == columns]
    return table_rows


def test_the_documented_wire_ceilings_equal_the_computed_wire_ceilings() -> None:
    of_fast_ethernet = rows(WIRE, 5)
    assert len(of_fast_ethernet) == 7
    for protocol, message, frames, timestamps, ceiling in of_fast_ethernet:
        assert protocol in ("TCP", "UDP")
        size = 1448 if message == "any" else int(message)
        ceiling_rate = ceiling_bit_per_s(
            Link(100e6, 1500),
            "TCP" if protocol == "TCP" else "UDP",
            size,
            1500,
            timestamps=timestamps == "yes",
        )
        assert ceiling == f"{ceiling_rate / 1e6:.3f}"
        if protocol == "UDP":
            assert int(frames) == len(fragments(size, mtu_bytes=1500))


def test_the_documented_frame_rates_equal_the_computed_frame_rates() -> None:
    table = [row for row in rows(WIRE, 3) if row[0].isdecimal()]
    assert len(table) == 3
    for frame, rate, message in table:
        assert rate == f"{int(frames_per_s(1e9, int(frame))):,}"
        assert int(message) == udp_message_in_frame(int(frame))


def test_the_documented_byte_times_equal_the_computed_byte_times() -> None:
    assert f"a full frame of MTU 1500 takes {packet_wire_bytes(1500)} byte times" in WIRE
    assert f"the shortest frame takes {packet_wire_bytes(20)}." in WIRE
    short_times = packet_wire_bytes(64 + 28)
    assert f"its frame takes {short_times} byte times. So its ceiling is 49.231" in WIRE
    parts = {row[0]: row[1] for row in rows(WIRE, 2)}
    around = sum(int(size) for part, size in parts.items() if size.isdecimal())
    assert around == packet_wire_bytes(1500 + TAG_BYTES) - 1500


def entries() -> dict[str, str]:
    parts = re.split(r"^## (.*)\n", GALLERY, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def test_every_recorded_run_is_in_the_gallery() -> None:
    assert sorted(entries()) == RUNS
    assert len(RUNS) >= 10


def test_each_run_of_the_gallery_links_its_page_its_tables_and_its_charts() -> None:
    for name, text in entries().items():
        assert f"reports/{name}/index.html)" in text
        assert f"reports/{name}/tables.md)" in text
        pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", text)
        assert bool(pictures) != (name == "nettest")
        for picture in pictures:
            assert (DOCS / "explanation" / picture).is_file()
            assert name in picture


def test_each_figure_of_the_gallery_is_in_the_tables_of_its_run() -> None:
    for name, text in entries().items():
        prose = re.sub(r"\]\([^)]*\)", "]", text)
        tables = (REPORTS / name / "tables.md").read_text("utf-8")
        known = {*re.findall(r"\d+\.\d+", tables)}
        assert [figure for figure in re.findall(r"\d+\.\d+", prose) if figure not in known] == []


def glossary() -> dict[str, str]:
    text = (DOCS / "reference" / "glossary.md").read_text("utf-8")
    return dict(re.findall(r"^\| \*\*(.+?)\*\* \| (.+) \|$", text, re.MULTILINE))


def test_the_glossary_is_in_alphabetical_order_and_has_each_word_once() -> None:
    words = [word.casefold() for word in glossary()]
    assert words == sorted(words)
    assert len(words) > 60


def test_the_words_of_the_architecture_mean_the_same_in_the_glossary() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    words = dict(re.findall(r"^\| \*\*(.+?)\*\* \| (.+) \|$", text, re.MULTILINE))
    assert len(words) >= 10
    assert {word: glossary().get(word) for word in words} == words
