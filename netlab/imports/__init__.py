"""Results from elsewhere: files in, a run folder out.

A module of this package is an importer, and ``netlab import`` has a command of its name; what
importers share is in ``common``. An importer has one object for the package: its ``IMPORTER``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class CommandOption:
    """An option that one importer alone takes."""

    name: str
    """Of the argument of ``Importer.read``."""
    flag: str
    help: str
    metavar: str | None = None
    default: Any = None
    limits: tuple[int, int] | None = None
    """The least and the most of a whole number; ``None``: a text is wanted."""
    repeated: bool = False
    """Whether it may be given again: its texts come as a tuple."""
    convert: Callable[[Any], Any] | None = None
    """What the text means; ValueError with a sentence, or UsageError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Importer:
    """A way to make a run folder out of a table; the command line makes a command of it."""

    help: str
    read: Callable[..., Path]
    """Takes the table, the folder to make, ``title``, ``link``, ``facts`` and its options."""
    options: tuple[CommandOption, ...] = ()


def importer_names() -> list[str]:
    """The importers there are, each the name of its module. Imports none of them."""
    from pkgutil import iter_modules

    return sorted(module.name for module in iter_modules(__path__) if not module.ispkg)


def importer(name: str) -> Importer:
    """The importer that a module has; ``name`` is one of ``importer_names``."""
    from importlib import import_module

    found: Importer = import_module(f"{__name__}.{name}").IMPORTER
    return found
