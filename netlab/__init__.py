"""netlab measures what a network path and its hosts can do, and says why.

``netlab.load(folder)`` reads a run, ``netlab.measure(server, client)`` asks one question of two
hosts, ``netlab.run(matrix)`` measures a matrix. Each gives a run: ``frame`` is its tidy table, one
row a trial; its ``findings`` say what may be said of it, each in a ``sentence``; ``summary()`` has
the means with their intervals, ``core`` the columns that a person looks at first, ``plot()`` draws
them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from netlab.version import VERSION

if TYPE_CHECKING:
    from netlab.api import load, measure, run

__all__ = ["__version__", "load", "measure", "run"]

__version__ = VERSION


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """The functions, whose rooms are read only when one of them is wanted."""
        if name not in __all__:
            raise AttributeError(f"module 'netlab' has no attribute {name!r}")
        from netlab import api

        return getattr(api, name)
