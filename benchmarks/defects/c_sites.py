"""Places in the probe's code where a defect can be planted, by the text of single lines."""

from __future__ import annotations

import re
from collections.abc import Iterator

from benchmarks.defects.python_sites import Place

FUNCTION = re.compile(r"^[a-z][\w \*]*?\b(\w+)\([^;]*$")
BEGINS = re.compile(r"[;{}]\s*(//.*|\*/)?$|^\s*$|\*/$")
"""How a line ends after which a statement begins."""
KINDS = {
    "call dropped": (r"^(\s+)(\w+\([^;]*\));$", r"\1(void)0;"),
    "comparison altered": (r" (<|>) ", r" \1= "),
    "condition inverted": (r"&&", "||"),
    "check negated": (r"\bif \(!", "if ("),
    "unit dropped": (r" [*/] (NS_PER_\w+|1000\w*|8)\b", ""),
    "direction swapped": (r"\bSO_SNDBUF\b", "SO_RCVBUF"),
    "direction back": (r"\bSO_RCVBUF\b", "SO_SNDBUF"),
    "byte order dropped": (r"\b(?:htonl|htons|ntohl|ntohs)\((\w+)\)", r"\1"),
    "sign swapped": (r" \+ ", " - "),
    "sign back": (r" - (?=\w)", " + "),
    "extreme swapped": (r"\bmin_(\w+)\(", r"max_\1("),
}
"""Kind → what is looked for in a line, and what stands in its place."""


def places(source: str) -> Iterator[Place]:
    """All places of a file of C: whole statements of one line within functions."""
    function, before = "", ""
    for number, line in enumerate(source.splitlines(), 1):
        if match := FUNCTION.match(line):
            function = match[1]
        elif line == "}":
            function = ""
        elif function and not line.lstrip().startswith(("//", "*", "/*", "#", "case ", "default")):
            whole = line.rstrip().endswith((";", "{")) and BEGINS.search(before) is not None
            declares = re.match(r"^\s+(static|const|struct|enum|typedef|else|\})", line)
            for kind, (pattern, replaced) in KINDS.items() if whole and not declares else ():
                altered = re.sub(pattern, replaced, line, count=1)
                if altered != line:
                    begins = BEGINS.search(before) is not None
                    yield Place(kind, function, line.strip(), number, number, altered, begins)
        before = line
