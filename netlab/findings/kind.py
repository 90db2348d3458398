"""A kind of finding: one row of the table of kinds, fixed before any run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

from netlab.messages import Message

Severity = Literal["note", "warning"]
Templates = tuple[Message, ...]
"""Versions of a text. A report uses the first version whose placeholders are all known. A
placeholder is the name of a word of the finding, of a figure of its evidence (the end of the name
decides the format), or of a value that ``netlab.report.text`` computes from words and figures."""
FindingRule = Callable[..., Iterable[Any]]
"""A function that returns findings. Its parameters have the names of attributes of ``RunEvidence``
(``netlab.findings.analysis``), whose values it gets."""

KINDS: dict[str, Kind] = {}
"""Name and value, with dashes only → kind, in the order of the table. Rules run in this order."""


class _OfTable(type):
    """``Kind.ONE_WAY`` is the row "one-way", ``Kind.LOSS_SOCKET`` the row "loss/socket"; ``for kind
    in Kind`` iterates over the table."""

    def __getattr__(cls, name: str) -> Kind:
        try:
            return KINDS[_dashed(name)]
        except KeyError:
            raise AttributeError(f"no kind of finding is called {name}") from None

    def __iter__(cls) -> Iterator[Kind]:
        return iter(tuple(KINDS.values()))


def _dashed(name: str) -> str:
    return name.lower().replace("_", "-").replace("/", "-")


@dataclass(frozen=True, eq=False, repr=False)
class Kind(str, metaclass=_OfTable):
    """The kind of a finding with its row of the table. As a ``str`` it is its name, such as
    "one-way", or its name and value, such as "loss/socket".
    """

    name: str
    severity: Severity
    _: KW_ONLY
    advice: Message
    value: str = ""
    """Which end, place, cause or outcome such a finding is about, if kinds share a name."""
    says: Templates = ()
    """Versions of its sentence, without the group that it is about and without a full stop. The
    word ``in_trials``, if a finding has it and no version names it, stands before the sentence."""
    rule: FindingRule | str | None = None
    """``module:function`` of this package, or a function; ``None``: the rule of a row above."""
    rank: int = 50
    """Decides what a report states first: a smaller rank is more important."""
    leads: bool = True
    """Whether a report may state a finding of this kind first. ``False`` if such a finding is
    expected, or means nothing by itself."""
    says_of_what: bool = False
    """Whether the text itself names its cells."""
    limit: Message | None = None
    """The name of the limit, if the kind is a limit of streams."""
    shown: Templates = ()
    """The figures behind a limit, as texts."""
    figures: tuple[str, ...] = ()
    """Names of the figures (``FIGURES`` of stream_limits.py) that show such a finding, besides the
    throughput and its ceiling."""
    of_host: bool = False
    """Whether a host is the limit, so that the throughput shows nothing about the link."""
    explains: bool = True
    """Whether the limit explains why a cell is below the ceiling."""

    @property
    def is_costly(self) -> bool:
        """Whether the kind is a warning about a limit of streams, which costs throughput."""
        return self.limit is not None and self.severity == "warning"

    def __new__(cls, name: str, *_: Any, value: str = "", **__: Any) -> Kind:
        """Make the ``str`` from name and value; the dataclass sets the other fields."""
        return super().__new__(cls, f"{name}/{value}" if value else name)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copying or unpickling a kind gives the same row of the table, not a new one."""
        return (getattr, (Kind, str(self)))


def warning(title: str, *texts: Message, **row: Any) -> None:
    """Add a row for a warning: the figure does not describe the network, or is not reliable.

    ``title``: a name, or name/value. ``texts`` are the versions of its sentence (``says``), or for
    a limit those of its figures (``shown``). ``row`` has the other fields of ``Kind``; its
    ``values`` map each value of the name to what is different there, made with ``value``.
    ValueError if the name, with its value, exists already.
    """
    _add(title, texts, {"severity": "warning", **row})


def note(title: str, *texts: Message, **row: Any) -> None:
    """Add a row for a note: anything else worth stating. Its rank is 90: after warnings."""
    _add(title, texts, {"severity": "note", "rank": 90, **row})


def value(*texts: Message, **own: Any) -> dict[str, Any]:
    """The texts and fields in which one value of a kind differs from the others."""
    return {"texts": texts, **own} if texts else own


def _add(title: str, texts: Templates, row: dict[str, Any]) -> None:
    name, _slash, only = title.partition("/")
    for called, own in row.pop("values", {only: {}}).items():
        fields = {"texts": texts, **row, **own}
        own_texts = fields.pop("texts")
        kind = Kind(
            name, value=called, **{"shown" if "limit" in fields else "says": own_texts, **fields}
        )
        if KINDS.setdefault(_dashed(kind), kind) is not kind:
            raise ValueError(f"there is a kind of finding called {kind} already")


def kinds_named(name: str) -> tuple[Kind, ...]:
    """The kinds of this name, one for each of its values, in the order of the table."""
    return tuple(kind for kind in Kind if kind.name == name)


def words_of(kind: Kind) -> tuple[str, ...]:
    """The words for a kind in ``expect:``: its name, and its name and value."""
    return tuple(dict.fromkeys((kind.name, str(kind))))


def expect_words() -> tuple[str, ...]:
    """All words for kinds in ``expect:``, in the order of the table."""
    return tuple(dict.fromkeys(word for kind in Kind for word in words_of(kind)))
