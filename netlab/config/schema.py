"""The JSON Schema of a matrix, for editors: ``python -m netlab.config.schema`` rewrites it.

A setting has two definitions there: ``NAME`` is one value, ``NAME_axis`` one or several.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SCHEMA_FILE = Path(__file__).parents[1] / "matrix.schema.json"
"""The first line of each matrix names this file. A test checks that the file is up to date."""

_COLUMNS = 100  # of a line; a longer part has a line for each of its items

_STEPS = {
    "description": "Evenly spaced values, both ends included.",
    "type": "object",
    "properties": {"from": True, "to": True, "step": True},
    "required": ["from", "to", "step"],
    "propertyNames": {"enum": ["from", "to", "step"]},
}
"""Steps of any unit: an axis adds, as ``additionalProperties``, of which."""


def schema_text() -> str:
    """The schema, generated from the model of a matrix file, with a final line feed."""
    from netlab.config.models import whole_model
    from netlab.config.settings import UNITS_IN_SCHEMA

    schema = _plain(whole_model().model_json_schema(by_alias=True))
    sections: dict[str, Any] = schema.pop("$defs")
    steps = {name: sections.pop(name) for name in [*sections] if "Steps_" in name}
    values, axes = (dict(sections[name]["properties"]) for name in ("Side", "ExpectWhen"))
    settings = dict(values)
    for name, axis in axes.items():
        # An axis refers to the definitions of one value and of its unit.
        choices = [_ref(name), {"type": "array", "items": _ref(name), "minItems": 1}]
        for choice in axis["oneOf"][2:]:
            end = steps[choice["$ref"].rpartition("/")[2]]["properties"]["from"]
            unit = {"$ref": end["$ref"]} if "$ref" in end else _ref(name)
            choices.append(_ref("steps") | {"additionalProperties": unit})
        settings[f"{name}_axis"] = {"description": axis["description"], "oneOf": choices}
    for section in sections.values():
        properties = section.get("properties", {})
        for name in properties.keys() & axes.keys():
            if properties[name] == values[name]:
                properties[name] = _ref(name)
            elif properties[name] == axes[name]:
                properties[name] = _ref(f"{name}_axis")
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    definitions = sections | {"steps": _STEPS, **UNITS_IN_SCHEMA} | dict(sorted(settings.items()))
    return "".join(_lines(head | schema | {"$defs": definitions})) + "\n"


def _plain(part: Any) -> Any:
    """The schema with a reference for each unit, without titles that repeat a key, and without null
    defaults: an optional key may be absent, but must not be null.
    """
    if isinstance(part, list):
        return [_plain(item) for item in part]
    if not isinstance(part, dict):
        return part
    kept = {
        key: _plain(value)
        for key, value in part.items()
        if not ((key == "title" and isinstance(value, str)) or (key == "default" and value is None))
    }
    return _ref(kept.pop("unit")) | kept if isinstance(kept.get("unit"), str) else kept


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{name}"}


def _lines(part: Any, indent: int = 0, key: str = "") -> Iterator[str]:
    """The JSON text of a part; what does not fit in one line has a line for each of its items."""
    text = key + json.dumps(part, ensure_ascii=False)
    if not isinstance(part, dict | list) or indent + len(text) < _COLUMNS:
        yield text
        return
    first, last = "{}" if isinstance(part, dict) else "[]"
    items = (
        [(json.dumps(name) + ": ", value) for name, value in part.items()]
        if isinstance(part, dict)
        else [("", value) for value in part]
    )
    yield key + first
    for number, (name, value) in enumerate(items):
        yield ("," if number else "") + "\n" + " " * (indent + 1)
        yield from _lines(value, indent + 1, name)
    yield "\n" + " " * indent + last


if __name__ == "__main__":
    SCHEMA_FILE.write_text(schema_text(), encoding="utf-8", newline="\n")
