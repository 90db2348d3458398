"""netlab measures what a network path and its hosts can do, and says why.

``netlab.load(folder).frame`` is the tidy table of a run, one row a trial; its ``findings`` say what
may be said of it, each in a ``sentence``.
"""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

from netlab.version import VERSION

if TYPE_CHECKING:
    from netlab.findings.analysis import Analysis

__all__ = ["__version__", "load"]

__version__ = VERSION


def load(folder: str | PathLike[str]) -> Analysis:
    """Read a run folder; raises ``StoreError`` where there is none or it is damaged beyond use."""
    from pathlib import Path

    from netlab.findings.analysis import load as load_run
    from netlab.report.text.said import in_english

    return load_run(Path(folder), in_english)
