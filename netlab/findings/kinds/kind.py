"""A kind of finding: one row of the table of kinds, fixed before any run. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

from netlab.messages import Message

Severity = Literal["note", "warning"]
Templates = tuple[Message, ...]
"""Texts, of which the first one whose placeholders are all known is used. A placeholder is the name
of a word, of evidence (its ending decides the format), or of a value that ``netlab.report.text``
computes from both."""
FindingRule = Callable[..., Iterable[Any]]
"""Returns findings. The names of its parameters are the evidence that it gets
(``netlab.findings.analysis``)."""

KINDS: dict[str, Kind] = {}
"""The table, by name. Rules run in its order."""


class _OfTable(type):
    """``Kind.ONE_WAY`` is the row "one-way"; ``for kind in Kind`` iterates over the table."""

    def __getattr__(cls, name: str) -> Kind:
        try:
            return KINDS[name.lower().replace("_", "-")]
        except KeyError:
            raise AttributeError(f"no kind of finding is called {name}") from None

    def __iter__(cls) -> Iterator[Kind]:
        return iter(tuple(KINDS.values()))


@dataclass(frozen=True, eq=False, repr=False)
class Kind(str, metaclass=_OfTable):
    """The kind of a finding: its name, as a ``str``, with its row of the table."""

    name: str
    severity: Severity
    _: KW_ONLY
    advice: Message
    says: Templates = ()
    """Its sentence, without the group that it is about and without a full stop."""
    rule: FindingRule | str | None = None
    """``module:function`` of this package, or a function; ``None``: the rule of a row above."""
    rank: int = 50
    """The smaller, the more important: it decides what a report states first."""
    leads: bool = True
    """Whether a report may state it first: not if it is expected, or means nothing by itself."""
    says_of_what: bool = False
    """Whether the text itself names its cells."""
    limit: Message | None = None
    """The name of the limit, if it is a limit of streams."""
    shown: Templates = ()
    """The figures behind a limit, as texts."""
    figures: tuple[str, ...] = ()
    """Names of figures that show it, besides the throughput and its ceiling (figures.py)."""
    of_host: bool = False
    """Whether a host is the limit, so that the throughput shows nothing about the link."""
    explains: bool = True
    """Whether the limit explains why a cell is below the ceiling."""
    section: str = ""
    """Its heading in docs/findings.md."""
    condition: str = ""
    """When it is stated: the rule with its thresholds and, in brackets, its source. English, for
    docs/findings.md."""

    def __new__(cls, name: str, *_: Any, **__: Any) -> Kind:
        """The ``str``; the dataclass sets the other fields."""
        return super().__new__(cls, name)

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy, or an unpickled kind, is the same row."""
        return (getattr, (Kind, str(self)))


def warning(name: str, *texts: Message, **row: Any) -> Kind:
    """Add a row of a warning: the figure does not describe the network, or is not reliable.

    ``texts`` are its sentences; for a limit, the figures behind it. ``row`` has the other fields of
    ``Kind``. ValueError if the name exists already.
    """
    return _add(name, "warning", texts, row)


def note(name: str, *texts: Message, **row: Any) -> Kind:
    """Add a row of a note: anything else worth stating. Without a rank it comes after warnings."""
    return _add(name, "note", texts, {"rank": 90, **row})


def _add(name: str, severity: Severity, texts: Templates, row: dict[str, Any]) -> Kind:
    kind = Kind(name, severity, **{"shown" if "limit" in row else "says": texts, **row})
    if KINDS.setdefault(name, kind) is not kind:
        raise ValueError(f"there is a kind of finding called {name} already")
    return kind
