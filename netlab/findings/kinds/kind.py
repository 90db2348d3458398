"""What is known of a kind of finding before any run: one row of the table of kinds. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

from netlab.messages import Message

Severity = Literal["note", "warning"]
Templates = tuple[Message, ...]
"""Texts of which the first is taken whose braces are all known. In braces are names of evidence,
whose ends say how it is written, and of words; and what ``netlab.report.text`` makes of both."""
FindingRule = Callable[..., Iterable[Any]]
"""Finds something: its parameters are called as what it looks at (``netlab.findings.analysis``)."""

KINDS: dict[str, Kind] = {}
"""The table, by name. Rules are asked in its order."""


class _OfTable(type):
    """``Kind.ONE_WAY`` is the row called "one-way"; ``for kind in Kind`` goes through the table."""

    def __getattr__(cls, name: str) -> Kind:
        try:
            return KINDS[name.lower().replace("_", "-")]
        except KeyError:
            raise AttributeError(f"no kind of finding is called {name}") from None

    def __iter__(cls) -> Iterator[Kind]:
        return iter(tuple(KINDS.values()))


@dataclass(frozen=True, eq=False, repr=False)
class Kind(str, metaclass=_OfTable):
    """What a finding states: its name, as a ``str``, with its row of the table."""

    name: str
    severity: Severity
    _: KW_ONLY
    advice: Message
    says: Templates = ()
    """What it states, without of what and without a full stop."""
    rule: FindingRule | str | None = None
    """``module:function`` of this package, or a function; ``None``: that of a row before finds it
    as well."""
    rank: int = 50
    """What matters more has the smaller; it decides what a report says first."""
    leads: bool = True
    """Whether a report may say it first: not what was to be expected, or says nothing alone."""
    says_of_what: bool = False
    """Whether the text itself says of which cells."""
    limit: Message | None = None
    """Of a limit of streams, how it is called."""
    shown: Templates = ()
    """The figures behind a limit, in words."""
    figures: tuple[str, ...] = ()
    """Names of the figures that show it, besides throughput and its ceiling (figures.py)."""
    of_host: bool = False
    """Whether the limit is a host's: what a pairing so limited reaches says nothing of its link."""
    explains: bool = True
    """Whether the limit says why a cell is below the ceiling."""
    section: str = ""
    """Under which heading docs/findings.md has it."""
    stated: str = ""
    """Where it is stated: its rule with its thresholds and, in brackets, its source. English, for
    docs/findings.md."""

    def __new__(cls, name: str, *_: Any, **__: Any) -> Kind:
        """The ``str``; the rest of the row is the dataclass's."""
        return super().__new__(cls, name)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copied and read back it is the same row."""
        return (getattr, (Kind, str(self)))


def warning(name: str, *texts: Message, **row: Any) -> Kind:
    """Add a row: what it states, in one text or several, and the rest by the names of ``Kind``.

    The figure is not the network's, or not to be believed as it stands. Of a limit the texts are
    the figures behind it. ValueError where the name is taken.
    """
    return _add(name, "warning", texts, row)


def note(name: str, *texts: Message, **row: Any) -> Kind:
    """The same of anything else worth saying; without a rank it comes after warnings."""
    return _add(name, "note", texts, {"rank": 90, **row})


def _add(name: str, severity: Severity, texts: Templates, row: dict[str, Any]) -> Kind:
    kind = Kind(name, severity, **{"shown" if "limit" in row else "says": texts, **row})
    if KINDS.setdefault(name, kind) is not kind:
        raise ValueError(f"there is a kind of finding called {name} already")
    return kind
