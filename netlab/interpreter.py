"""Python itself: the environment of further interpreters, and a pause of its garbage collector."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PACKAGES = Path(__file__).parents[1]


def with_this_netlab() -> dict[str, str]:
    """The environment variables of this process, by which a new interpreter finds this netlab."""
    path = os.pathsep.join([str(_PACKAGES), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path}


@contextmanager
def without_collector() -> Iterator[None]:
    """Pause the collector, whose passes would free nothing among a hundred thousand records or
    cells.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
