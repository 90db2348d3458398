"""Executes the notebooks of the documentation and stores the output of their cells.

Run ``python docs/scripts/notebook.py`` (``make notebooks``) after a change of a cell or of its
output. The tests execute them too, and compare.
"""

from __future__ import annotations

from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).resolve().parents[1] / "notebooks").glob("*.ipynb"))
PATIENCE_S = 120
"""Time limit of a cell, also on a busy machine."""


def executed(path: Path) -> nbformat.NotebookNode:
    """The notebook after execution by a kernel of this Python, in its own folder."""
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
    """Execute every notebook again."""
    for path in NOTEBOOKS:
        answered = executed(path)
        answered.metadata["language_info"] = {"name": "python"}  # without the version
        nbformat.write(answered, path)


if __name__ == "__main__":
    main()
