"""Parses YAML 1.2 text into plain data with positions. No I/O.

PyYAML's parser splits the text into events. This module interprets them by the core schema of YAML
1.2: ``no`` is a word, ``010`` is ten, ``0o10`` is eight, ``1_000`` is a word. Mapping keys
are words as written. The parser refuses, each with its place: duplicate keys, tags, merge keys,
further documents, and attacks (deep nesting, aliases that grow into millions of values).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import yaml

from netlab.errors import Fault, MatrixError

MAX_BYTES = 1 << 20
"""Maximum size of a text in bytes of UTF-8."""
MAX_DEPTH = 32
"""Maximum depth of nesting."""
MAX_NODES = 20_000
"""Maximum number of values; an alias counts as many values as its anchor has."""
TOO_LARGE = "the file is larger than 1 MiB, which is the limit"
_MAX_DIGITS = 40

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOL = {word: word[0] in "tT" for word in ("true", "True", "TRUE", "false", "False", "FALSE")}
_DECIMAL = re.compile(r"[-+]?[0-9]+")
_OCTAL = re.compile(r"0o[0-7]+")
_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
_NO_CHARACTER = re.compile(r"\\U(?!000[0-9a-fA-F]{5}|0010[0-9a-fA-F]{4})[0-9a-fA-F]{8}")


@dataclass(slots=True)
class Node:
    """One value with its position. Aliases share their anchor's node."""

    line: int
    """Line in the text, from 1."""
    column: int
    """Column in the line, from 1."""
    scalar: str | int | float | bool | None = None
    items: list[Node] | None = None
    """The items of a sequence."""
    entries: dict[str, tuple[Node, Node]] | None = None
    """The entries of a mapping: nodes of key and value, by key."""
    size: int = 1
    """Number of values in it, itself included; an alias counts as many values as its anchor has."""
    height: int = 1
    """Number of levels of nesting in it, itself included."""

    def add(self, child: Node) -> None:
        """Add a child's size and height."""
        self.size += child.size
        self.height = max(self.height, child.height + 1)

    def data(self) -> Any:
        """The plain value: dict, list, str, int, float, bool or None."""
        if self.entries is not None:
            return {name: value.data() for name, (_key, value) in self.entries.items()}
        if self.items is not None:
            return [item.data() for item in self.items]
        return self.scalar


def parse(text: str, file: str, faults: list[Fault] | None = None) -> Node:
    """The one value in a YAML text.

    Raises MatrixError with every fault found. The document can still be used after some faults,
    such as a duplicate key. If ``faults`` is a list, it gets these faults; they are not raised.
    """
    root, found = _read(text, file)
    if root is None or (found and faults is None):
        raise MatrixError([*found])
    if faults is not None:
        faults += found
    return root


@lru_cache(maxsize=2)
def _read(text: str, file: str) -> tuple[Node | None, Sequence[Fault]]:
    """The value in a text, ``None`` if it cannot be read, and every fault. Kept, because several
    steps of a command read the same file, and PyYAML is slow.
    """
    breaks = _Breaks.of(text)
    builder = _Builder(file, breaks)
    unreadable = _unreadable(text, file)
    if unreadable is not None:
        return None, [unreadable]
    try:
        root = builder.document(yaml.parse(breaks.hidden(text), Loader=yaml.SafeLoader))
    except _TooMuch:
        root = None
    except yaml.MarkedYAMLError as error:
        builder.faults.append(_syntax_fault(error, text, file))
        root = None
    return root, builder.faults


class _TooMuch(Exception):
    """A limit is exceeded: its fault is recorded, and reading ends."""


@dataclass(frozen=True, slots=True)
class _Breaks:
    """Characters that are line breaks for PyYAML (YAML 1.1) and ordinary characters in YAML 1.2."""

    stand_ins: dict[str, str]
    """Character → a private-use character that does not occur in the text."""

    @classmethod
    def of(cls, text: str) -> _Breaks:
        """Stand-ins for the characters of this kind that occur in ``text``."""
        free = (chr(code) for code in range(0xE000, 0xF8FF) if chr(code) not in text)
        return cls({character: next(free) for character in "\x85\u2028\u2029" if character in text})

    def hidden(self, text: str) -> str:
        """The text for PyYAML, with the stand-ins; every character keeps its position."""
        return text.translate({ord(old): new for old, new in self.stand_ins.items()})

    def shown(self, text: str) -> str:
        """The text with its original characters."""
        return text.translate({ord(new): old for old, new in self.stand_ins.items()})


@dataclass(slots=True)
class _Builder:
    """Turns events into nodes; faults are collected."""

    file: str
    breaks: _Breaks
    faults: list[Fault] = field(default_factory=list)
    anchors: dict[str, Node | None] = field(default_factory=dict)
    """Name → its node; ``None`` while the anchor's own value is being read."""
    nodes: int = 0

    def document(self, events: Iterator[Any]) -> Node | None:
        """The value of the first document; a second one is a fault."""
        root: Node | None = None
        documents = 0
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    self._stop(event, "a second document begins here; a file may contain only one")
            elif isinstance(event, yaml.NodeEvent):
                root = self._node(event, events, "", 1)
        if documents == 0 and not self.faults:
            self.faults.append(Fault(self.file, 1, 1, "", "the file is empty"))
        return root

    def _node(self, event: Any, events: Iterator[Any], path: str, depth: int) -> Node:
        mark = event.start_mark
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, path, depth)
        node = Node(mark.line + 1, mark.column + 1)
        self._count(event, 1)
        self._check_depth(event, depth)
        if event.anchor is not None:
            self.anchors[event.anchor] = None
        if isinstance(event, yaml.ScalarEvent):
            self._scalar(node, event, path)
        else:
            if event.tag not in (None, "!"):
                self._tag(event, path)
            if isinstance(event, yaml.SequenceStartEvent):
                self._sequence(node, events, path, depth)
            else:
                self._mapping(node, events, path, depth)
        if event.anchor is not None:
            self.anchors[event.anchor] = node
        return node

    def _alias(self, event: Any, path: str, depth: int) -> Node:
        name = event.anchor
        if name not in self.anchors:
            self._fault(event, path, f"the alias *{name} has no anchor &{name} before it")
        elif (node := self.anchors[name]) is None:
            self._stop(
                event,
                f"the alias *{name} is inside the value of &{name}, so the value would never end",
            )
        else:
            self._count(event, node.size)
            self._check_depth(event, depth + node.height - 1)
            return node
        return Node(event.start_mark.line + 1, event.start_mark.column + 1)

    def _sequence(self, node: Node, events: Iterator[Any], path: str, depth: int) -> None:
        node.items = []
        for event in events:
            if isinstance(event, yaml.SequenceEndEvent):
                return
            item = self._node(event, events, f"{path}[{len(node.items)}]", depth + 1)
            node.items.append(item)
            node.add(item)

    def _mapping(self, node: Node, events: Iterator[Any], path: str, depth: int) -> None:
        node.entries = {}
        for event in events:
            if isinstance(event, yaml.MappingEndEvent):
                return
            name = self._key(event, events, path, depth)
            key = Node(event.start_mark.line + 1, event.start_mark.column + 1, scalar=name)
            below = f"{path}.{name}" if path else name
            value = self._node(next(events), events, below, depth + 1)
            node.add(value)
            if name in node.entries:
                first = node.entries[name][0]
                self._fault(event, below, f"the key is given twice; first in line {first.line}")
            else:
                node.entries[name] = (key, value)

    def _key(self, event: Any, events: Iterator[Any], path: str, depth: int) -> str:
        if not isinstance(event, yaml.ScalarEvent):
            self._fault(event, path, "a key must be a plain word")
            self._node(event, events, path, depth + 1)
            return ""
        if event.value == "<<" and event.style is None:
            self._fault(
                event,
                path,
                "YAML 1.2 has no merge keys (<<): write the keys out, or use `defaults`",
            )
        return self.breaks.shown(str(event.value))

    def _scalar(self, node: Node, event: Any, path: str) -> None:
        if event.tag not in (None, "!", "tag:yaml.org,2002:str"):
            self._tag(event, path)
        elif event.tag is not None or event.style is not None:
            node.scalar = self.breaks.shown(event.value)
            if _CONTROL.search(event.value):
                self._fault(
                    event, path, "an escape here stands for a character that is not allowed"
                )
        else:
            try:
                node.scalar = resolve(self.breaks.shown(event.value))
            except ValueError as error:
                self._fault(event, path, str(error))

    def _tag(self, event: Any, path: str) -> None:
        tag = event.tag.replace("tag:yaml.org,2002:", "!!")
        self._fault(
            event, path, f"the tag {tag[:60]} is not allowed: write the value without a tag"
        )

    def _count(self, event: Any, size: int) -> None:
        self.nodes += size
        if self.nodes > MAX_NODES:
            self._stop(event, f"more than {MAX_NODES:,} values, including those of aliases")

    def _check_depth(self, event: Any, depth: int) -> None:
        if depth > MAX_DEPTH:
            self._stop(event, f"nested more than {MAX_DEPTH} levels deep")

    def _fault(self, event: Any, path: str, message: str) -> None:
        mark = event.start_mark
        self.faults.append(Fault(self.file, mark.line + 1, mark.column + 1, path, message))

    def _stop(self, event: Any, message: str) -> None:
        self._fault(event, "", message)
        raise _TooMuch


def resolve(text: str) -> str | int | float | bool | None:
    """The value of a plain scalar by the core schema of YAML 1.2.

    Raises ValueError for a number that is not finite or has more than 40 characters.
    """
    if text in _NULL:
        return None
    if text in _BOOL:
        return _BOOL[text]
    if _NOT_FINITE.fullmatch(text):
        raise ValueError(f"{text} is not a finite number")
    for pattern, base in ((_DECIMAL, 10), (_OCTAL, 8), (_HEXADECIMAL, 16)):
        if pattern.fullmatch(text):
            _check_length(text)
            return int(text[2:] if base != 10 else text, base)
    if _FLOAT.fullmatch(text):
        _check_length(text)
        number = float(text)
        if number in (float("inf"), float("-inf")):
            raise ValueError(f"{text} is too large a number")
        return number
    return text


def _check_length(text: str) -> None:
    if len(text) > _MAX_DIGITS:
        raise ValueError(f"a number of {len(text)} characters is too long")


def _unreadable(text: str, file: str) -> Fault | None:
    """A fault of the text as a whole, found before YAML is parsed."""
    if len(text.encode("utf-8", "replace")) > MAX_BYTES:
        return Fault(file, 1, 1, "", TOO_LARGE)
    match = _CONTROL.search(text)
    if match is not None:
        code = ord(match[0])
        character = "a NUL byte" if code == 0 else f"the control character U+{code:04X}"
        message = f"there is {character} here; is this really a text file?"
        return Fault(file, *place(text, match.start()), "", message)
    match = _NO_CHARACTER.search(text)
    if match is not None:
        message = f"{match[0]} is not a Unicode character"
        return Fault(file, *place(text, match.start()), "", message)
    return None


def place(text: str, index: int) -> tuple[int, int]:
    """Line and column of a character, both from 1."""
    return text.count("\n", 0, index) + 1, index - text.rfind("\n", 0, index)


def _lines(text: str) -> list[str]:
    """The lines as YAML counts them: a carriage return alone ends a line as well."""
    return re.split("\r\n|\r|\n", text)


def _syntax_fault(error: yaml.MarkedYAMLError, text: str, file: str) -> Fault:
    """PyYAML's error as one sentence with its place."""
    mark = error.problem_mark or error.context_mark
    line, column = (1, 1) if mark is None else (mark.line + 1, mark.column + 1)
    problem = error.problem or "it cannot be read"
    if "'\\t'" in problem:
        return Fault(file, line, column, "", "there is a tab here; YAML indents with spaces only")
    cause = _odd_space(text, file, line) or _colon_without_space(text, file, line)
    if cause is not None:
        return cause
    opening = error.context_mark
    if opening is not None and any(word in str(error.context) for word in _UNCLOSED):
        sign = _lines(text)[opening.line][opening.column : opening.column + 1]
        message = f"`{sign}` is not closed; netlab noticed this in line {line}, column {column}"
        return Fault(file, opening.line + 1, opening.column + 1, "", message)
    context = f"{error.context}: " if error.context else ""
    return Fault(file, line, column, "", f"not valid YAML: {context}{problem}")


_UNCLOSED = ("flow sequence", "flow mapping", "quoted scalar")
_ODD_SPACE = re.compile("[\u00a0\u1680\u2000-\u200b\u202f\u205f\u3000\ufeff]")
_STUCK = re.compile(r"[ ]*(?:- +)?([A-Za-z_][A-Za-z0-9_]*):(?=[^ /:])")


def _odd_space(text: str, file: str, noticed: int) -> Fault | None:
    """The fault of a space that YAML treats as a letter, in the line where parsing failed or before
    this line.
    """
    lines = _lines(text)[:noticed]
    for number, line in enumerate(lines, 1):
        for match in _ODD_SPACE.finditer(line.partition("#")[0]):
            name = "no-break space" if match[0] == "\u00a0" else "space that YAML does not know"
            message = f"there is a {name} (U+{ord(match[0]):04X}) here; write a plain space"
            return Fault(file, number, match.start() + 1, "", message)
    return None


def _colon_without_space(text: str, file: str, noticed: int) -> Fault | None:
    """The fault of a missing space, as in ``duration:10s``, in the line where parsing failed or in
    the line before.
    """
    lines = _lines(text)
    for number in (noticed - 1, noticed):
        match = _STUCK.match(lines[number - 1]) if 1 <= number <= len(lines) else None
        if match is not None:
            message = f"a space is missing after the colon of `{match[1]}:`"
            return Fault(file, number, match.end() + 1, "", message)
    return None
