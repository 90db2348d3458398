"""Imports paramiko without invoke, until `Match exec` of ~/.ssh/config asks for it: a third of the
time that paramiko takes to be there.
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
    """The package, imported when something of it is used; ImportError then where it is missing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(importlib.import_module(NAME), name)


def import_paramiko() -> None:
    """Have paramiko there. From any thread; only the first call does something."""
    with _turn:
        if "paramiko" in sys.modules:
            return
        stand_in = None if NAME in sys.modules else _Late(NAME)
        if stand_in is not None:
            sys.modules[NAME] = stand_in
        try:
            import paramiko  # noqa: F401
        finally:
            if stand_in is not None and sys.modules.get(NAME) is stand_in:
                del sys.modules[NAME]
