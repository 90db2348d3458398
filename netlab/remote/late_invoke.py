"""Imports paramiko without its dependency invoke, which takes a third of paramiko's import time.

invoke is imported later if `Match exec` of ~/.ssh/config needs it.
"""

from __future__ import annotations

import importlib
import sys
import threading
from types import ModuleType
from typing import Any

NAME = "invoke"

_turn = threading.Lock()


class _Late(ModuleType):
    """A stand-in for a package that is imported at its first use; ImportError if it is missing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(importlib.import_module(NAME), name)


def import_paramiko() -> None:
    """Import paramiko. Any thread may call it; only the first call has an effect."""
    with _turn:
        if "paramiko" in sys.modules:
            return
        late_module = None if NAME in sys.modules else _Late(NAME)
        if late_module is not None:
            sys.modules[NAME] = late_module
        try:
            import paramiko  # noqa: F401
        finally:
            if late_module is not None and sys.modules.get(NAME) is late_module:
                del sys.modules[NAME]
