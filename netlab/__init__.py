"""netlab measures what a network path and its hosts can do, and explains what limits them.

``netlab.load(folder)`` reads a run, ``netlab.scan(folder, …)`` reads the tables of many runs,
``netlab.measure(server, client)`` measures between two hosts,
``netlab.run(matrix)`` measures a matrix. Each returns a run:

- ``frame`` is the run's table in tidy form, one row per trial (one measurement);
- ``core`` has the most important columns of ``frame``;
- ``summary()`` has the means with their confidence intervals, ``plot()`` draws them;
- ``findings`` are statements about the results, each with a ``sentence``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from netlab.version import VERSION

if TYPE_CHECKING:
    from netlab.api import load, measure, run, scan

__all__ = ["__version__", "load", "measure", "run", "scan"]

__version__ = VERSION


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Import the functions only when one of them is used."""
        if name not in __all__:
            raise AttributeError(f"module 'netlab' has no attribute {name!r}")
        from netlab import api

        return getattr(api, name)
