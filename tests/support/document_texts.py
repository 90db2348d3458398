"""The texts that a reader sees of netlab's LaTeX documents and Markdown files."""

from __future__ import annotations

import re
from collections.abc import Iterator

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
    for written, sign in SIGNS.items():
        body = body.replace(written, sign)
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
