"""Importers: they read results of other tools or documents and write a run folder.

Each module of this package is an importer, and ``netlab import`` has a command of its name. The
module defines one object for the package: its ``IMPORTER``. Shared code is in ``common``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class CommandOption:
    """An option of one importer."""

    name: str
    """Name of the argument of ``Importer.read``."""
    flag: str
    help: str
    metavar: str | None = None
    default: Any = None
    limits: tuple[int, int] | None = None
    """Minimum and maximum of a whole number; ``None``: the value is a text."""
    repeated: bool = False
    """Whether it may be repeated; its values are then a tuple."""
    convert: Callable[[Any], Any] | None = None
    """Converts the text; raises ValueError with a sentence, or UsageError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Importer:
    """Makes a run folder out of a table or of outputs; it becomes a command of the command line."""

    help: str
    read: Callable[..., Path]
    """Arguments: the table or the files, the folder to make, ``title``, ``link``, ``facts`` and its
    options."""
    is_of_files: bool = False
    """Whether it reads several files, and folders of them; then no link is assumed."""
    options: tuple[CommandOption, ...] = ()


def importer_names() -> list[str]:
    """Names of all importers, which are their modules' names. Imports none of them."""
    from pkgutil import iter_modules

    return sorted(module.name for module in iter_modules(__path__) if not module.ispkg)


def importer(name: str) -> Importer:
    """The importer of a module; ``name`` is one of ``importer_names``."""
    from importlib import import_module

    plugin: Importer = import_module(f"{__name__}.{name}").IMPORTER
    return plugin
