"""Reads YAML 1.2 as data with positions, and validates a part of it with a pydantic model.

Every fault is reported as ``file:line:column: key path: what is wrong``, all of them in one pass.
PyYAML's events are interpreted by the core schema of YAML 1.2: ``no`` is a word, ``010`` is ten,
``0o10`` is eight, ``1_000`` is a word. Mapping keys are words as written. Refused: duplicate keys,
tags, merge keys, further documents, and attacks (deep nesting, aliases that grow into millions).
"""

from __future__ import annotations

import contextlib
import difflib
import re
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from netlab.errors import Fault, MatrixError, UsageError, place

MAX_BYTES = 1 << 20
"""Maximum size of a text in bytes of UTF-8."""
MAX_DEPTH = 32
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
_LINE_END = re.compile("\r\n|\r|\n")  # as YAML counts: a carriage return alone, too
_NO_CHARACTER = re.compile(r"\\U(?!000[0-9a-fA-F]{5}|0010[0-9a-fA-F]{4})[0-9a-fA-F]{8}")


@dataclass(slots=True)
class Node:
    """One value with its position. Aliases share their anchor's node."""

    line: int
    column: int  # column in the line, from 1
    scalar: str | int | float | bool | None = None
    items: list[Node] | None = None
    entries: dict[str, tuple[Node, Node]] | None = None
    """The entries of a mapping: nodes of key and value, by key."""
    size: int = 1
    """Number of values in it, itself included; an alias counts as many as its anchor has."""
    height: int = 1  # number of levels of nesting in it, itself included

    def add(self, child: Node) -> None:
        """Count a child."""
        self.size += child.size
        self.height = max(self.height, child.height + 1)

    def data(self) -> Any:
        """The plain value: dict, list, str, int, float, bool or None."""
        if self.entries is not None:
            return {name: value.data() for name, (_key, value) in self.entries.items()}
        if self.items is not None:
            return [item.data() for item in self.items]
        return self.scalar


@lru_cache(maxsize=2)
def _read(text: str, file: str) -> tuple[Node | None, Sequence[Fault]]:
    """The value in a text, if it can be read, and every fault. Kept, as several steps of a command
    read the same file, and PyYAML is slow.
    """
    unreadable = _unreadable(text, file)
    if unreadable is not None:
        return None, [unreadable]
    # Characters that are line breaks for PyYAML (YAML 1.1) and ordinary ones in YAML 1.2 get
    # private-use characters in their place, so that every character keeps its position.
    free = (chr(code) for code in range(0xE000, 0xF8FF) if chr(code) not in text)
    stand_ins = {ord(old): next(free) for old in "\x85\u2028\u2029" if old in text}
    builder = _Builder(file, {ord(new): chr(old) for old, new in stand_ins.items()})
    try:
        root = builder.document(yaml.parse(text.translate(stand_ins), Loader=yaml.SafeLoader))
    except _TooMuch:
        root = None
    except yaml.MarkedYAMLError as error:
        builder.faults.append(_syntax_fault(error, text, file))
        root = None
    return root, builder.faults


class _TooMuch(Exception):
    """A limit is exceeded: its fault is recorded, and reading ends."""


@dataclass(slots=True)
class _Builder:
    """Turns events into nodes; faults are collected."""

    file: str
    originals: dict[int, str]  # private-use character → the character for which it stands
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
            within = f"the alias *{name} is inside the value of &{name}"
            self._stop(event, f"{within}, so the value would never end")
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
            advice = "write the keys out, or use `defaults`"
            self._fault(event, path, f"YAML 1.2 has no merge keys (<<): {advice}")
        return str(event.value).translate(self.originals)

    def _scalar(self, node: Node, event: Any, path: str) -> None:
        if event.tag not in (None, "!", "tag:yaml.org,2002:str"):
            self._tag(event, path)
        elif event.tag is not None or event.style is not None:
            node.scalar = event.value.translate(self.originals)
            if _CONTROL.search(event.value):
                wrong = "an escape here stands for a character that is not allowed"
                self._fault(event, path, wrong)
        else:
            try:
                node.scalar = resolve(event.value.translate(self.originals))
            except ValueError as error:
                self._fault(event, path, str(error))

    def _tag(self, event: Any, path: str) -> None:
        tag = event.tag.replace("tag:yaml.org,2002:", "!!")
        wrong = f"the tag {tag[:60]} is not allowed"
        self._fault(event, path, f"{wrong}: write the value without a tag")

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
    """The value of a plain scalar by YAML 1.2's core schema. ValueError for a number that is not
    finite or too long.
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
    if match := _CONTROL.search(text):
        code = ord(match[0])
        character = "a NUL byte" if code == 0 else f"the control character U+{code:04X}"
        message = f"there is {character} here; is this really a text file?"
    elif match := _NO_CHARACTER.search(text):
        message = f"{match[0]} is not a Unicode character"
    else:
        return None
    return Fault(file, *place(text, match.start()), "", message)


def _syntax_fault(error: yaml.MarkedYAMLError, text: str, file: str) -> Fault:
    mark = error.problem_mark or error.context_mark
    line, column = (1, 1) if mark is None else (mark.line + 1, mark.column + 1)
    problem = error.problem or "it cannot be read"
    if "'\\t'" in problem:
        return Fault(file, line, column, "", "there is a tab here; YAML indents with spaces only")
    lines = _LINE_END.split(text)
    # A space that YAML treats as a letter makes a fault in its line, or in a later one.
    for number, written in enumerate(lines[:line], 1):
        if odd := _ODD_SPACE.search(written.partition("#")[0]):
            name = "no-break space" if odd[0] == "\u00a0" else "space that YAML does not know"
            message = f"there is a {name} (U+{ord(odd[0]):04X}) here; write a plain space"
            return Fault(file, number, odd.start() + 1, "", message)
    # So does a missing space, as in ``duration:10s``.
    for number in (line - 1, line):
        match = _STUCK.match(lines[number - 1]) if 1 <= number <= len(lines) else None
        if match is not None:
            message = f"a space is missing after the colon of `{match[1]}:`"
            return Fault(file, number, match.end() + 1, "", message)
    opening = error.context_mark
    if opening is not None and any(word in str(error.context) for word in _UNCLOSED):
        sign = lines[opening.line][opening.column : opening.column + 1]
        message = f"`{sign}` is not closed; netlab noticed this in line {line}, column {column}"
        return Fault(file, opening.line + 1, opening.column + 1, "", message)
    context = f"{error.context}: " if error.context else ""
    return Fault(file, line, column, "", f"not valid YAML: {context}{problem}")


_UNCLOSED = ("flow sequence", "flow mapping", "quoted scalar")
_ODD_SPACE = re.compile("[\u00a0\u1680\u2000-\u200b\u202f\u205f\u3000\ufeff]")
_STUCK = re.compile(r"[ ]*(?:- +)?([A-Za-z_][A-Za-z0-9_]*):(?=[^ /:])")


Step = str | int
KeyPath = Sequence[Step]
Model = TypeVar("Model", bound=BaseModel)


class Section(BaseModel):
    """Base of every part of a file: unknown keys are faults, and no value is converted silently."""

    # Deferred: only the models of whole files need validators; the parts are built into them.
    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, allow_inf_nan=False, defer_build=True
    )

    @property
    def stated(self) -> dict[str, Any]:
        """The keys that the file states → their values, in the order of their declaration."""
        own = self.model_fields_set  # a set of texts: its order changes from process to process
        return {name: getattr(self, name) for name in type(self).model_fields if name in own}


def absent(description: str | None = None, **limits: Any) -> Any:
    """A key that a file may leave out, but that never is null."""
    return Field(default=None, description=description, **limits)


@dataclass(frozen=True, slots=True)
class Document:
    """A YAML file: its text, its data (plain dicts, lists and scalars), and their positions."""

    file: str
    text: str
    data: dict[str, Any]
    root: Node

    def fault(self, path: KeyPath, message: str, *, at_key: bool = False) -> Fault:
        """A fault at the value (or the key) of ``path``, or at its nearest existing part."""
        node = self.root
        line, column = node.line, node.column
        for step in path:
            if isinstance(step, str) and node.entries is not None and step in node.entries:
                key, node = node.entries[step]
            elif isinstance(step, int) and node.items is not None and step < len(node.items):
                key = node = node.items[step]
            else:
                break
            named = key if at_key else node
            line, column = named.line, named.column
        # As text, the path is ``tests[0].message_size[2]``.
        words = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
        return Fault(self.file, line, column, words.removeprefix("."), message)

    def at(self, path: KeyPath) -> Any:
        """The data at ``path``; KeyError or IndexError if there is none."""
        data: Any = self.data
        for step in path:
            data = data[step]
        return data


def read_document(path: Path, faults: list[Fault] | None = None) -> Document:
    """Read a file and parse it with ``load_document``; UsageError if it cannot be read."""
    return load_document(content_of(path), str(path), faults)


def content_of(path: Path) -> bytes:
    """The bytes of a file, at most one more than are allowed; UsageError if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None


def load_document(text: str | bytes, file: str, faults: list[Fault] | None = None) -> Document:
    """Parse YAML 1.2 whose top level is a mapping. Raises MatrixError with every fault found. If
    ``faults`` is a list, it gets those faults, such as duplicate keys, with which the document can
    still be used.
    """
    if isinstance(text, bytes):
        if text.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise MatrixError([Fault(file, 1, 1, "", "the file is UTF-16; save it as UTF-8")])
        if len(text) > MAX_BYTES:
            raise MatrixError([Fault(file, 1, 1, "", TOO_LARGE)])
        try:
            decoded = text.decode("utf-8")
        except UnicodeDecodeError as error:
            prefix = text[: error.start].decode("utf-8")
            message = f"the byte 0x{text[error.start]:02x} is not UTF-8; save the file as UTF-8"
            raise MatrixError([Fault(file, *place(prefix, len(prefix)), "", message)]) from None
        text = decoded
    text = text.removeprefix("\ufeff")
    root, found = _read(text, file)
    if root is None or (found and faults is None):
        raise MatrixError([*found])
    if faults is not None:
        faults += found
    if root.entries is None:
        empty = root.items is None and root.scalar is None
        message = "the file is empty" if empty else "the file is not a mapping of keys to values"
        raise MatrixError([Fault(file, root.line, root.column, "", message)])
    return Document(file=file, text=text, data=root.data(), root=root)


def validate(document: Document, model_class: type[Model]) -> Model:
    """The data as a model. Raises MatrixError with a fault for every pydantic error, each at its
    place, with "did you mean" for keys and words.
    """
    result = check(document, model_class)
    if isinstance(result, list):
        raise MatrixError([complaint.fault for complaint in result])
    return result


@dataclass(frozen=True, slots=True)
class PlacedFault:
    """A fault, with its key path as data."""

    path: tuple[Step, ...]
    fault: Fault


def check(
    document: Document, model_class: type[Model], data: Any = None
) -> Model | list[PlacedFault]:
    """The data as a model, or a list of all its faults. ``data`` is a copy without the values that
    were reported already.
    """
    data = document.data if data is None else data
    try:
        return model_class.model_validate(data)
    except ValidationError as error:
        details = error.errors(include_url=False)
        return [_placed_fault(document, data, model_class, detail) for detail in details]


OTHER_WORDS: Mapping[str, str] = {
    "duration": "time seconds runtime",
    "message_size": "size length len payload packet_size block_size",
    "socket_buffer": "buffer window sndbuf rcvbuf",
    "rate": "bandwidth bitrate speed throughput",
    "streams": "parallel connections threads flows",
    "direction": "reverse bidir bidirectional",
    "congestion": "cc congestion_control tcp_cong_control",
    "dscp": "tos",
    "ip": "ipv4 ipv6",
    "client_cpu": "cpu cpus affinity",
    "protocol": "proto transport tcp udp sctp mptcp quic",
    "repeats": "iterations runs repetitions",
    "variants": "tso gso offload offloads sysctl",
    "stream": "throughput bandwidth iperf iperf3",
    "round_trip": "latency ping rr",
    "latency_under_load": "bufferbloat rrul load",
}
"""A key or word of a matrix → what other tools, and people, call it."""
UNSUPPORTED = frozenset({"SCTP", "MPTCP", "QUIC", "DCCP", "RDMA"})
"""Protocols that people ask for, and that no probe speaks."""


def meanings(word: str) -> list[str]:
    """The keys and words of a matrix that another tool's word may mean, and the word itself."""
    word = word.lower()
    return [word, *(key for key, others in OTHER_WORDS.items() if word in others.split())]


def did_you_mean(word: str, vocabulary: Iterable[str]) -> str:
    """A suggestion such as ``; did you mean `message_size`?``; empty if no word is similar."""
    names = {name.lower(): name for name in vocabulary}
    near = [key for key in meanings(word) if key in names]
    settings = [key for key in meanings(word) if key in OTHER_WORDS]
    if not near and settings and "defaults" in names:
        return f"; did you mean `{settings[0]}` in `defaults` or `tests`?"
    near = near or difflib.get_close_matches(word.lower(), names, n=1, cutoff=0.65)
    return f"; did you mean `{names[near[0]]}`?" if near else ""


def _placed_fault(
    document: Document, data: Any, model_class: type[BaseModel], detail: ErrorDetails
) -> PlacedFault:
    path, names = _walk(data, model_class, detail["loc"])
    kind = detail["type"]
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        path.append(detail["ctx"]["discriminator"].strip("'"))
    at_key = False
    if kind == "union_tag_not_found":
        message = "the key is missing"
    elif kind == "missing":
        message = f"the key is missing{_typo_of(data, path, names)}"
    elif kind == "extra_forbidden":
        near = did_you_mean(str(path[-1]), names)
        if not near and names and len(names) <= 8:
            near = f"; possible keys: {', '.join(names)}"
        message, at_key = f"unknown key{near}", True
    elif detail["input"] is None:
        message, at_key = "has no value: give one, or leave the key out", True
    else:
        message = _sentence(detail)
        path += [detail["ctx"]["index"]] if kind == "place_in_list" else []
    return PlacedFault(tuple(path), document.fault(path, message, at_key=at_key))


def _typo_of(data: Any, path: KeyPath, names: Sequence[str]) -> str:
    """A question that asks whether an unknown key is a misspelling of the missing key."""
    for step in path[:-1]:
        data = data[step]
    strangers = [key for key in data if key not in names] if isinstance(data, dict) else []
    near = difflib.get_close_matches(str(path[-1]), strangers, n=1, cutoff=0.65)
    return f"; is `{near[0]}` misspelt?" if near else ""


def _walk(
    data: Any, model_class: type[BaseModel], location: Sequence[Step]
) -> tuple[list[Step], list[str]]:
    """A pydantic location as a key path, without the names of union branches that pydantic puts
    into it; and the keys that the model allows at its end.
    """
    path: list[Step] = []
    annotations: list[Any] = [model_class]
    names: list[str] = []
    for index, step in enumerate(location):
        # Branches of a union whose tag is this step.
        tagged = [
            annotation
            for annotation in annotations
            if any(get_args(type_) == (step,) for type_ in _fields(annotation).values())
        ]
        if tagged and len(annotations) > 1:
            annotations = tagged
            continue
        names = [name for annotation in annotations for name in _fields(annotation)]
        is_last = index == len(location) - 1
        if isinstance(data, dict) and (step in data or (is_last and step in names)):
            data = data.get(step)
        elif isinstance(data, list) and isinstance(step, int) and step < len(data):
            data = data[step]
        else:
            continue
        path.append(step)
        annotations = [below for annotation in annotations for below in _below(annotation, step)]
    return path, names


def _fields(annotation: Any) -> Mapping[str, Any]:
    if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
        return {}
    fields = annotation.model_fields.items()
    return {field.alias or name: field.annotation for name, field in fields}


def _below(annotation: Any, step: Step) -> list[Any]:
    """The annotations of the values under ``step``, with unions split into their branches."""
    if fields := _fields(annotation):
        return _branches(fields[str(step)]) if step in fields else []
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (dict, Mapping) and len(arguments) == 2:
        return _branches(arguments[1])
    return _branches(arguments[0]) if origin in (list, tuple, Sequence) and arguments else []


def _branches(annotation: Any) -> list[Any]:
    origin = get_origin(annotation)
    if origin is Annotated:
        return _branches(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        return [below for branch in get_args(annotation) for below in _branches(branch)]
    return [annotation]


_SENTENCES = {
    "string_type": "should be text",
    "int_type": "should be a whole number",
    "float_type": "should be a number",
    "bool_type": "should be true or false",
    "list_type": "should be a list",
    "tuple_type": "should be a list",
    "dict_type": "should be a mapping of keys to values",
    "model_type": "should be a mapping of keys to values",
    "model_attributes_type": "should be a mapping of keys to values",
    "finite_number": "should be a finite number",
    "greater_than_equal": "should be at least {ge}",
    "greater_than": "should be more than {gt}",
    "less_than_equal": "should be at most {le}",
    "less_than": "should be less than {lt}",
    "string_pattern_mismatch": "does not match the pattern {pattern}",
    "string_too_short": "should not be empty",
    "string_too_long": "should have at most {max_length} characters",
    "too_long": "should have at most {max_length} entries",
}


_QUOTED: Mapping[str, type] = {"bool_type": bool, "int_type": int, "float_type": float}
"""Pydantic's error type → type that the text would have without its quotes."""


def _sentence(detail: ErrorDetails) -> str:
    kind, context, value = detail["type"], detail.get("ctx", {}), detail["input"]
    if kind == "value_error":
        return str(context["error"])
    if kind in ("literal_error", "union_tag_invalid"):
        word = context.get("tag", value)
        choices = str(context.get("expected") or context.get("expected_tags", ""))
        words = [word.strip("'") for part in choices.split(", ") for word in part.split(" or ")]
        is_known = str(word).upper() in UNSUPPORTED
        wrong = "not supported; supported:" if is_known else "not one of"
        near = "" if is_known else did_you_mean(str(word), words)
        return f"{_shown(word)} is {wrong} {', '.join(words)}{near}"
    if kind == "too_short":
        return "is empty" if not value else f"should have at least {context['min_length']} entries"
    if kind not in _SENTENCES:
        return detail["msg"][:1].lower() + detail["msg"][1:]
    if isinstance(value, str) and kind in _QUOTED:
        with contextlib.suppress(ValueError):
            if type(resolve(value)) is _QUOTED[kind]:
                return f"`{value}` in quotes is text: write it without the quotes"
    sentence = _SENTENCES[kind].format(**context)
    return sentence if isinstance(value, dict | list) else f"{_shown(value)} {sentence}"


def _shown(value: object) -> str:
    text = f"`{value}`" if isinstance(value, str) else str(value)
    if isinstance(value, bool):
        text = str(value).lower()
    if isinstance(value, dict | list):
        text = "a mapping" if isinstance(value, dict) else "a list"
    return text if len(text) <= 60 else text[:60] + "…"
