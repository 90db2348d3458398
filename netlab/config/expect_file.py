"""Reads the file of `netlab check --expect FILE`: a YAML file with ``expect:``, or a matrix."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, create_model

from netlab.config.document import Section, read_document, validate
from netlab.config.goals import expectations_of, unknown_kinds
from netlab.config.matrix_model import MatrixFile, model_for
from netlab.config.setting_models import ExpectSection, expect_section, keys_of
from netlab.errors import MatrixError, UsageError
from netlab.experiment.expectations import Expectation


class ExpectFile(Section):
    """A file with expectations of a run and nothing else."""

    expect: list[ExpectSection]


def load_expectations(path: Path, kinds: Collection[str] | None = None) -> tuple[Expectation, ...]:
    """The expectations of a file.

    ``kinds`` are the known kinds of findings; if it is ``None``, ``expect:`` may name any kind.
    Raises UsageError if the file cannot be read or is a matrix without ``expect:``, and MatrixError
    with every fault.
    """
    document = read_document(path)
    model: ExpectFile | MatrixFile
    if "tests" in document.data:
        model = validate(document, model_for(document.data))
        if not model.expect:
            raise UsageError(f"{path}: a matrix without `expect:`, so there is nothing to check")
    else:
        section: Any = expect_section(frozenset(keys_of(document.data)))
        listed = Annotated[list[section], Field(min_length=1, max_length=100)]
        file_model = create_model("ExpectFile", __base__=ExpectFile, expect=(listed, ...))
        model = validate(document, file_model)
    if kinds is not None and any(section.no for section in model.expect):
        faults = [*unknown_kinds(document, model.expect, kinds)]
        if faults:
            raise MatrixError(faults)
    return expectations_of(model.expect)
