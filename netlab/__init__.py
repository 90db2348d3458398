"""netlab measures what a network path and its hosts can do, and says why.

``netlab.load(folder).frame`` is the tidy table of a run, one row a trial; its ``findings`` say what
may be said of it, each in a ``sentence``; ``summary()`` has the means with their intervals,
``core`` the columns that a person looks at first, ``plot()`` draws them.
"""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

from netlab.version import VERSION

if TYPE_CHECKING:
    from netlab.report.notebook import LoadedRun

__all__ = ["__version__", "load"]

__version__ = VERSION


def load(folder: str | PathLike[str]) -> LoadedRun:
    """Read a run folder; raises ``StoreError`` where there is none or it is damaged beyond use."""
    from pathlib import Path

    from netlab.report.notebook import LoadedRun
    from netlab.report.text.said import in_english
    from netlab.results.run import read_checked

    return LoadedRun(read_checked(Path(folder)), in_english)
