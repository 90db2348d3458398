"""Reads a YAML file as data with positions, and validates a part of it with a pydantic model.

Every fault is reported as ``file:line:column: key path: what is wrong``, all of them in one pass.
"""

from __future__ import annotations

import difflib
import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from netlab.config import yaml12
from netlab.config.yaml12 import Node
from netlab.errors import Fault, MatrixError, UsageError

Step = str | int
KeyPath = Sequence[Step]
Model = TypeVar("Model", bound=BaseModel)


class Section(BaseModel):
    """Base of every part of a file: unknown keys are faults, and no value is converted silently."""

    # Deferred: only the models of whole files need validators; the parts are built into them.
    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, allow_inf_nan=False, defer_build=True
    )


@dataclass(frozen=True, slots=True)
class Document:
    """A YAML file: its text, its data (plain dicts, lists and scalars), and their positions."""

    file: str
    """Name of the file in faults."""
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
            place = key if at_key else node
            line, column = place.line, place.column
        return Fault(self.file, line, column, path_text(path), message)

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
            return file.read(yaml12.MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None


def load_document(text: str | bytes, file: str, faults: list[Fault] | None = None) -> Document:
    """Parse YAML 1.2 whose top level is a mapping. Raises MatrixError with every fault found.

    The document can still be used after some faults. If ``faults`` is a list, it gets these faults;
    they are not raised.
    """
    decoded = _decoded(text, file)
    root = yaml12.parse(decoded, file, faults)
    if root.entries is None:
        empty = root.items is None and root.scalar is None
        message = "the file is empty" if empty else "the file is not a mapping of keys to values"
        raise MatrixError([Fault(file, root.line, root.column, "", message)])
    return Document(file=file, text=decoded, data=root.data(), root=root)


def validate(document: Document, model_class: type[Model], section: KeyPath = ()) -> Model:
    """The part of ``document`` at ``section`` as a model.

    Raises MatrixError with a fault for every pydantic error, each at its place, with "did you
    mean" for keys and words. KeyError if the document has no such section.
    """
    result = check(document, model_class, section)
    if isinstance(result, list):
        raise MatrixError([complaint.fault for complaint in result])
    return result


@dataclass(frozen=True, slots=True)
class PlacedFault:
    """A fault, with its key path as data."""

    path: tuple[Step, ...]
    fault: Fault


def check(
    document: Document, model_class: type[Model], section: KeyPath = (), data: Any = None
) -> Model | list[PlacedFault]:
    """The part of ``document`` at ``section`` as a model, or a list of all its faults.

    If ``data`` is given, it is validated instead of the part; it is a copy of the part without the
    values that were reported already.
    """
    part = document.at(section) if data is None else data
    try:
        return model_class.model_validate(part)
    except ValidationError as error:
        details = error.errors(include_url=False)
        return [_placed_fault(document, part, model_class, section, detail) for detail in details]


def path_text(path: KeyPath) -> str:
    """A key path as text, such as ``tests[0].message_size[2]``."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}"
    return text.removeprefix(".")


def did_you_mean(word: str, vocabulary: Iterable[str]) -> str:
    """A suggestion such as ``; did you mean `message_size`?``; empty if no word is similar."""
    names = {name.lower(): name for name in vocabulary}
    near = difflib.get_close_matches(word.lower(), names, n=1, cutoff=0.65)
    return f"; did you mean `{names[near[0]]}`?" if near else ""


def _decoded(content: str | bytes, file: str) -> str:
    """The text without its byte order mark."""
    if isinstance(content, str):
        return content.removeprefix("\ufeff")
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise MatrixError([Fault(file, 1, 1, "", "the file is UTF-16; save it as UTF-8")])
    if len(content) > yaml12.MAX_BYTES:
        raise MatrixError([Fault(file, 1, 1, "", yaml12.TOO_LARGE)])
    try:
        return content.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        prefix = content[: error.start].decode("utf-8")
        line, column = yaml12.place(prefix, len(prefix))
        message = f"the byte 0x{content[error.start]:02x} is not UTF-8; save the file as UTF-8"
        raise MatrixError([Fault(file, line, column, "", message)]) from None


def _placed_fault(
    document: Document,
    data: Any,
    model_class: type[BaseModel],
    section: KeyPath,
    detail: ErrorDetails,
) -> PlacedFault:
    """One pydantic error as a sentence with its place in the file."""
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
        message, at_key = f"unknown key{_suggestion(str(path[-1]), names)}", True
    elif detail["input"] is None:
        message, at_key = "has no value: give one, or leave the key out", True
    else:
        message = _sentence(detail)
        path += [detail["ctx"]["index"]] if kind == "place_in_list" else []
    full_path = (*section, *path)
    return PlacedFault(full_path, document.fault(full_path, message, at_key=at_key))


def _suggestion(word: str, names: Sequence[str]) -> str:
    near = did_you_mean(word, names)
    if near or len(names) > 8:
        return near
    return f"; possible keys: {', '.join(names)}" if names else ""


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
    """A pydantic location as a key path, and the keys that the model allows at the end of the path.

    Pydantic puts the names of union branches into its locations; the file does not have them.
    """
    path: list[Step] = []
    annotations: list[Any] = [model_class]
    names: list[str] = []
    for index, step in enumerate(location):
        tagged = [annotation for annotation in annotations if _is_tagged(annotation, step)]
        if tagged and len(annotations) > 1:
            annotations = tagged
            continue
        names = [name for annotation in annotations for name in _fields(annotation)]
        last = index == len(location) - 1
        if isinstance(data, dict) and (step in data or (last and step in names)):
            path.append(step)
            data = data.get(step)
        elif isinstance(data, list) and isinstance(step, int) and step < len(data):
            path.append(step)
            data = data[step]
        else:
            continue
        annotations = [below for annotation in annotations for below in _below(annotation, step)]
    return path, names


def _is_tagged(annotation: Any, step: Step) -> bool:
    """Whether a step of pydantic's location is the tag of this branch of a union."""
    return any(get_args(type_) == (step,) for type_ in _fields(annotation).values())


def _fields(annotation: Any) -> Mapping[str, Any]:
    """The keys of a model, by their names in the file."""
    if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
        return {}
    fields = annotation.model_fields.items()
    return {field.alias or name: field.annotation for name, field in fields}


def _below(annotation: Any, step: Step) -> list[Any]:
    """The annotations of the values under ``step``, with unions split into their branches."""
    fields = _fields(annotation)
    if fields:
        return _branches(fields[str(step)]) if step in fields else []
    arguments = get_args(annotation)
    if get_origin(annotation) in (dict, Mapping) and len(arguments) == 2:
        return _branches(arguments[1])
    if get_origin(annotation) in (list, tuple, Sequence) and arguments:
        return _branches(arguments[0])
    return []


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
    "string_too_short": "should not be empty",
    "string_too_long": "should have at most {max_length} characters",
    "too_long": "should have at most {max_length} entries",
}


def _sentence(detail: ErrorDetails) -> str:
    kind, context, value = detail["type"], detail.get("ctx", {}), detail["input"]
    if kind == "value_error":
        return str(context["error"])
    if kind in ("literal_error", "union_tag_invalid"):
        return _not_among(context.get("tag", value), context)
    if kind == "too_short":
        return "is empty" if not value else f"should have at least {context['min_length']} entries"
    if kind == "string_pattern_mismatch":
        return f"{_shown(value)} does not match the pattern {context['pattern']}"
    if kind in _SENTENCES:
        return _of_value(kind, context, value)
    return detail["msg"][:1].lower() + detail["msg"][1:]


def _of_value(kind: str, context: Mapping[str, Any], value: object) -> str:
    """A sentence about the form that the value should have."""
    if isinstance(value, str) and _QUOTED.get(kind) is type(_resolved(value)):
        return f"`{value}` in quotes is text: write it without the quotes"
    sentence = _SENTENCES[kind].format(**context)
    return sentence if isinstance(value, dict | list) else f"{_shown(value)} {sentence}"


_QUOTED: Mapping[str, type] = {"bool_type": bool, "int_type": int, "float_type": float}
"""Pydantic's error type → type that the text would have without its quotes."""


def _resolved(text: str) -> object:
    try:
        return yaml12.resolve(text)
    except ValueError:
        return text


def _not_among(value: object, context: Mapping[str, Any]) -> str:
    choices = str(context.get("expected") or context.get("expected_tags", ""))
    words = [word.strip("'") for part in choices.split(", ") for word in part.split(" or ")]
    return f"{_shown(value)} is not one of {', '.join(words)}{did_you_mean(str(value), words)}"


def _shown(value: object) -> str:
    text = f"`{value}`" if isinstance(value, str) else str(value)
    if isinstance(value, bool):
        text = str(value).lower()
    if isinstance(value, dict | list):
        text = "a mapping" if isinstance(value, dict) else "a list"
    return text if len(text) <= 60 else text[:60] + "…"
