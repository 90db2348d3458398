"""The commands that the variants of a matrix would run on its hosts. No I/O.

A variant names a state of a host's own settings, such as the offloads of an interface.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from netlab.experiment.hosts import EndName
from netlab.experiment.variants import KNOWN, Change, Variants, Words

_ENDS: tuple[EndName, ...] = ("server", "client")


@dataclass(frozen=True, slots=True)
class VariantCommands:
    """The commands for one change on a host: to make the change, to check it and to undo it."""

    variant: str
    """The state of the host's settings that needs the change, such as ``offload=off``."""
    end: EndName
    enter: str
    check: str
    restore: tuple[str, ...]
    """The commands that undo the change. ``FOUND`` stands for a value that the host has before
    it."""


def commands_of(variants: Variants) -> Iterator[VariantCommands]:
    """Every command, as a POSIX shell would read it; placeholders are not filled."""
    for group, states in variants.items():
        for name, state in states.items():
            for end in _ENDS:
                for change in state.changes(end):
                    restore = tuple(map(_shown, _restoring(change)))
                    words = _shown(change.enter), _shown(change.check)
                    yield VariantCommands(f"{group}={name}", end, *words, restore)


def _restoring(change: Change) -> Iterator[Words]:
    if change.restore:
        yield from change.restore
        return
    for words in KNOWN[change.known].foreseen(dict(change.wanted)):
        yield (*change.prefix, *words)


def _shown(words: Words) -> str:
    """A command as text, without quotes around a placeholder, which stands for a plain word."""
    return re.sub(r"'(\{[a-z_]+\})'", r"\1", shlex.join(words))


def lines_of(variants: Variants) -> Iterator[str]:
    """The lines of a plan about its variants."""
    for commands in commands_of(variants):
        yield f"Variant {commands.variant}, on the {commands.end}: {commands.enter}"
        yield f"  checked before each trial: {commands.check}"
        for words in commands.restore:
            yield f"  put back: {words}"
