"""The JSON Schema of a matrix, for editors: ``python -m netlab.schema`` writes it anew."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SCHEMA_FILE = Path(__file__).with_name("matrix.schema.json")
"""Named in each matrix's first line; a test checks that it is current."""


def schema_text() -> str:
    """The schema, generated from the model of a matrix file; ends with a line feed."""
    from netlab.matrix_model import MatrixFile

    schema = _without_null_defaults(MatrixFile.model_json_schema(by_alias=True))
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return json.dumps(head | schema, indent=1, ensure_ascii=False) + "\n"


def _without_null_defaults(part: Any) -> Any:
    """Absent is not null: a key whose default is nothing must not be written as nothing."""
    if isinstance(part, list):
        return [_without_null_defaults(each) for each in part]
    if not isinstance(part, dict):
        return part
    return {
        key: _without_null_defaults(value)
        for key, value in part.items()
        if not (key == "default" and value is None)
    }


if __name__ == "__main__":
    SCHEMA_FILE.write_text(schema_text(), encoding="utf-8", newline="\n")
