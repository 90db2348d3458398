"""The environment of further Python interpreters that netlab starts for its own work."""

from __future__ import annotations

import os
from pathlib import Path

_PACKAGES = Path(__file__).parents[1]


def with_this_netlab() -> dict[str, str]:
    """The environment variables of this process, by which a new interpreter finds this netlab."""
    path = os.pathsep.join([str(_PACKAGES), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path}
