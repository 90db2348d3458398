"""The manual page is the commands' own, and troff has nothing to say against it."""

from __future__ import annotations

import re
import runpy
import subprocess
from typing import Any

import pytest
from folders import DOCS

PAGE = DOCS / "man" / "netlab.1"


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    return runpy.run_path(str(DOCS / "scripts" / "man_page.py"))


def rendered() -> str:
    argv = ["groff", "-man", "-ww", "-Tutf8", "-P-c", str(PAGE)]
    process = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=120)
    assert (process.returncode, process.stderr) == (0, "")
    # What is printed twice is bold.
    return re.sub(r".\x08|\x1b\[[0-9;]*m", "", process.stdout)


def test_the_manual_page_agrees_with_the_commands(made: dict[str, Any]) -> None:
    assert PAGE.read_text("ascii") == made["page"](), "run `make docs`"


def test_text_of_the_manual_page_is_escaped_for_troff(made: dict[str, Any]) -> None:
    assert made["escaped"](".so /etc/passwd") == r"\&.so /etc/passwd"
    assert made["escaped"](r"a\b -x …") == r"a\eb \-x \[u2026]"


@pytest.mark.needs("groff")
def test_groff_typesets_the_manual_page_without_warnings() -> None:
    text = rendered()
    for words in ("netlab run [OPTIONS] MATRIX", "netlab lab up", "netlab import table"):
        assert words in text
    for option in ("--no-report", "-o, --output FILE", "-q, --quiet", "--cpu-quota HOST=SHARE"):
        assert option in text
    assert re.search(r"^ +6 +locked by another run$", text, re.M)
    assert "such as 100Mbit" in " ".join(text.split())
    assert r"\[u" not in text
