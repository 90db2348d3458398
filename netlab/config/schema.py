"""The JSON Schema of a matrix, for editors: ``python -m netlab.config.schema`` rewrites it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SCHEMA_FILE = Path(__file__).parents[1] / "matrix.schema.json"
"""The first line of each matrix names this file. A test checks that the file is up to date."""


def schema_text() -> str:
    """The schema, generated from the model of a matrix file, with a final line feed."""
    from netlab.config.matrix_model import whole_model

    schema = _each_once(_without_null_defaults(whole_model().model_json_schema(by_alias=True)))
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return json.dumps(head | schema, indent=1, ensure_ascii=False) + "\n"


def _without_null_defaults(part: Any) -> Any:
    """The schema without null defaults: an optional key may be absent, but must not be null."""
    if isinstance(part, list):
        return [_without_null_defaults(item) for item in part]
    if not isinstance(part, dict):
        return part
    return {
        key: _without_null_defaults(value)
        for key, value in part.items()
        if not (key == "default" and value is None)
    }


def _each_once(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with every setting defined once, and referenced in the sections."""
    from netlab.config.settings import FIELD_OF

    names: dict[str, str] = {}
    shared: dict[str, Any] = {}
    sections = {name: dict(section) for name, section in schema["$defs"].items()}
    for section in sections.values():
        properties = dict(section.get("properties", {}))
        for name in properties.keys() & FIELD_OF.keys():
            definition = json.dumps([name, properties[name]])
            if definition not in names:
                # A setting is an axis in some sections, one value in others.
                names[definition] = f"{name}:{sum(n.partition(':')[0] == name for n in shared)}"
                shared[names[definition]] = properties[name]
            properties[name] = {"$ref": f"#/$defs/{names[definition]}"}
        if properties:
            section["properties"] = properties
    return schema | {"$defs": sections | dict(sorted(shared.items()))}


if __name__ == "__main__":
    SCHEMA_FILE.write_text(schema_text(), encoding="utf-8", newline="\n")
