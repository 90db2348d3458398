"""`netlab check --expect FILE` → what is expected: a YAML file with ``expect:``, or a matrix."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Annotated

from pydantic import Field

from netlab.config.document import Section, read_document, validate
from netlab.config.goals import expectations_of, unknown_kinds
from netlab.config.matrix_model import ExpectSection, MatrixFile
from netlab.errors import MatrixError, UsageError
from netlab.experiment.expectations import Expectation


class ExpectFile(Section):
    """A file that says what is expected of a run, and nothing else."""

    expect: Annotated[list[ExpectSection], Field(min_length=1, max_length=100)]


def load_expectations(path: Path, kinds: Collection[str] | None = None) -> tuple[Expectation, ...]:
    """What a file expects; ``kinds`` of findings are those that there are, ``None``: any.

    UsageError where it cannot be read or expects nothing, MatrixError with every fault.
    """
    document = read_document(path)
    model: ExpectFile | MatrixFile
    if "tests" in document.data:
        model = validate(document, MatrixFile)
        if not model.expect:
            raise UsageError(f"{path}: a matrix without `expect:`; nothing is expected there")
    else:
        model = validate(document, ExpectFile)
    if kinds is not None and any(section.no for section in model.expect):
        faults = [*unknown_kinds(document, model.expect, kinds)]
        if faults:
            raise MatrixError(faults)
    return expectations_of(model.expect)
