"""Importers: they read results of other tools or documents and write a run folder.

Each module of this package is an importer, and ``netlab import`` has a subcommand with the module's
name. This package reads one object of each module: ``IMPORTER``. Shared code is in ``common``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class CommandOption:
    """An option of one importer."""

    name: str
    """Name of the argument of ``Importer.read`` that gets the option's value."""
    flag: str
    help: str
    metavar: str | None = None
    default: Any = None
    limits: tuple[int, int] | None = None
    """Minimum and maximum if the value is a whole number; ``None`` if it is a text."""
    repeated: bool = False
    """Whether the option may be repeated; if so, the argument is a tuple of all its values."""
    convert: Callable[[Any], Any] | None = None
    """Converts the text, or the tuple of texts. Raises UsageError, or ValueError with a sentence
    for the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Importer:
    """Makes a run folder out of a table or a tool's outputs; a subcommand of ``netlab import``."""

    help: str
    read: Callable[..., Path]
    """Arguments: the table or the files, the folder to make, ``title``, ``link``, ``facts`` and the
    values of ``options``."""
    is_of_files: bool = False
    """Whether ``read`` takes several files and folders of files. If so, ``link`` has no default."""
    options: tuple[CommandOption, ...] = ()


def importer_names() -> list[str]:
    """Names of all importers, which are their modules' names. Does not import these modules."""
    from pkgutil import iter_modules

    return sorted(module.name for module in iter_modules(__path__) if not module.ispkg)


def importer(name: str) -> Importer:
    """The importer of a module; ``name`` is one of ``importer_names``."""
    plugin: Importer = import_module(f"{__name__}.{name}").IMPORTER
    return plugin
