"""The commands of README.md, as they stand there."""

from __future__ import annotations

import re

from folders import ROOT

TEXT = (ROOT / "README.md").read_text("utf-8")
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(language: str = "") -> list[str]:
    """The blocks of code in one language; without a name those of a terminal."""
    return [text for block_language, text in _BLOCK.findall(TEXT) if block_language == language]


def commands() -> list[str]:
    """Every command of a block, without its comment; what a command answered is left out."""
    lines = [
        line.removeprefix("$ ").partition("  #")[0].strip()
        for block in blocks()
        for line in block.splitlines()
        if line.startswith("$ ") or not block.startswith("$ ")
    ]
    return [line for line in lines if line]
