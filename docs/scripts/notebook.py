"""Executes the notebooks of the documentation and keeps what their cells answer.

``python docs/scripts/notebook.py`` (``make notebooks``), after a change of a cell or of what is
shown. The tests execute them too, and compare.
"""

from __future__ import annotations

from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).resolve().parents[1] / "notebooks").glob("*.ipynb"))
PATIENCE_S = 120
"""For a cell, on a machine that does other things besides."""


def executed(path: Path) -> nbformat.NotebookNode:
    """The notebook as a kernel of this Python answers it now, in its own folder."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=PATIENCE_S,
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": str(path.parent)}},
    )
    answered: nbformat.NotebookNode = client.execute()
    return answered


def main() -> None:
    """Every notebook, anew."""
    for path in NOTEBOOKS:
        answered = executed(path)
        answered.metadata["language_info"] = {"name": "python"}  # which one it was says nothing
        nbformat.write(answered, path)


if __name__ == "__main__":
    main()
