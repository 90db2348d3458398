"""The notebooks of the documentation print today what they show."""

from __future__ import annotations

import re
import runpy
from typing import Any

import nbformat
import pytest
from folders import DOCS, ROOT

NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
SCRIPT = runpy.run_path(str(DOCS / "scripts" / "notebook.py"))


def shape(output: Any) -> tuple[str, dict[str, str]]:
    """What kind of answer it is, and its words without figures and spacing; of a picture that it
    is one.
    """
    data = dict(output.get("data", {}))
    if "text" in output:
        data["text/plain"] = output["text"]
    return output["output_type"], {
        kind: "" if kind.startswith("image/") else re.sub(r"[\d.e+-]+|\s+", " ", text)
        for kind, text in data.items()
        if kind != "text/html"  # the same again, with what pandas says of style
    }


def shapes(notebook: Any) -> list[tuple[str, list[tuple[str, dict[str, str]]]]]:
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [(cell.source, [shape(output) for output in cell.outputs]) for cell in cells]


@pytest.mark.lab
def test_each_notebook_prints_today_what_its_stored_output_shows() -> None:
    assert NOTEBOOKS
    for path in NOTEBOOKS:
        stored = nbformat.read(path, as_version=4)
        assert shapes(SCRIPT["executed"](path)) == shapes(stored), "run `make notebooks`"


def test_the_first_notebook_shows_loading_plotting_and_measuring_without_errors() -> None:
    stored = shapes(nbformat.read(DOCS / "notebooks" / "first-run.ipynb", as_version=4))
    source = "\n".join(cell_source for cell_source, _ in stored)
    for word in ("netlab.load(", "summary()", ".core", ".plot(", ".findings", "netlab.measure("):
        assert word in source
    assert all(outputs for _, outputs in stored)
    kinds = [kind for _, outputs in stored for _, data in outputs for kind in data]
    assert kinds.count("image/png") == 1
    assert not any(kind == "error" for _, outputs in stored for kind, _ in outputs)


def test_the_comparison_of_notebook_outputs_ignores_figures_but_not_words() -> None:
    output = {"output_type": "stream", "text": "LL TCP 64: at 94.1 Mbit/s\n"}
    assert shape(output) == shape(output | {"text": "LL TCP 64:  at 93.9 Mbit/s\n"})
    assert shape(output) != shape(output | {"text": "LL UDP 64: at 94.1 Mbit/s\n"})
    assert shape(output) != shape(output | {"output_type": "error"})


def test_no_notebook_has_a_path_of_the_machine_that_executed_it() -> None:
    assert [path.name for path in NOTEBOOKS if str(ROOT) in path.read_text("utf-8")] == []
