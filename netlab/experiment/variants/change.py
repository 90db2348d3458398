"""A change of a host's settings: the commands that make, check and undo it. No I/O."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

Words = tuple[str, ...]
"""A command as a list of words, which is run without a shell."""

PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
PLACEHOLDERS = frozenset({"interface", "address", "peer_address"})
"""What a command may contain in braces: the interface of the route to the other host, and the test
addresses of this host and the other host."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a host's settings."""

    enter: Words
    """The command that makes the change."""
    check: Words
    """The command that prints the setting."""
    restore: tuple[Words, ...] = ()
    """The commands that undo the change; empty: the values that ``check`` found are set again."""
    expect: str = ""
    """A regular expression that must match in the output of ``check``; empty: no condition."""
    known: str = ""
    """The key of the changed setting in ``KNOWN`` of known.py; empty if ``KNOWN`` lacks it."""
    wanted: tuple[tuple[str, str], ...] = ()
    """Names and values that the change sets, if the setting is in ``KNOWN``."""
    prefix: Words = ()
    """The words before the commands that change something, such as ``sudo -n``."""

    @property
    def uses(self) -> frozenset[str]:
        """The placeholders in its commands."""
        words = (*self.enter, *self.check, *(word for words in self.restore for word in words))
        return frozenset(name for word in words for name in PLACEHOLDER.findall(word))

    def filled(self, values: Mapping[str, str]) -> Change:
        """The change with its placeholders replaced by ``values``."""
        return Change(
            fill(self.enter, values),
            fill(self.check, values),
            tuple(fill(words, values) for words in self.restore),
            self.expect,
            self.known,
            self.wanted,
            self.prefix,
        )


def fill(words: Words, values: Mapping[str, str]) -> Words:
    """The words with each placeholder replaced; a placeholder without a value stays."""
    return tuple(
        PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), word) for word in words
    )
