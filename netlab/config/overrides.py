"""``--set NAME=VALUE``: overrides of a matrix file, written as in the file and checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from netlab.config.document import Section, did_you_mean, load_document, validate
from netlab.config.matrix_model import ListedPairings, MatrixFile, Running
from netlab.config.setting_models import defaults_section
from netlab.config.settings import FIELD_OF, NAME_OF, kinds_with
from netlab.errors import MatrixError, UsageError
from netlab.experiment.kinds import EXCLUSIVE, FIELDS


class Scaling(Section):
    """``scale``, only for ``--set``: in a file, it would change the meaning of its counts."""

    scale: float = Field(default=1.0, gt=0, le=1000, description="Factor for every count.")


class Listing(Section):
    """Only a list may replace the pairings; "every host with every other" needs the inventory."""

    pairings: ListedPairings = Field(description="Server first, such as [LL, WL].")


@dataclass(frozen=True, slots=True)
class Overrides:
    """Overrides by name, with values as the file would have them."""

    settings: Mapping[str, Any]
    """Settings of the tests."""
    running: Mapping[str, Any]
    """How the matrix is run, and its pairings."""
    scale: float
    """Factor for every ``count``."""

    @property
    def repeats_are_set(self) -> bool:
        """Whether the overrides set the number of trials, for every test."""
        return bool({"repeats", "until"} & self.running.keys())

    def over(self, model: MatrixFile) -> MatrixFile:
        """The model with these overrides.

        If one of ``repeats`` and ``until`` is set, the other one is reset, and so are the
        ``repeats`` of single tests.
        """
        update = dict(self.running)
        if self.repeats_are_set:
            update = {"repeats": 1, "until": None} | update
            tests = [test.model_copy(update={"repeats": None}) for test in model.tests]
            update["tests"] = tests
        return model.model_copy(update=update)


def overrides_of(texts: Mapping[str, str], model: MatrixFile) -> Overrides:
    """Parse ``--set`` texts by name. UsageError with every fault, one per line."""
    defaults = defaults_section(frozenset(texts))
    values: dict[type[Section], dict[str, Any]] = {
        defaults: {}, Running: {}, Listing: {}, Scaling: {}
    }  # fmt: skip
    wrong: list[str] = []
    for name, text in texts.items():
        section = next((kind for kind in values if name in kind.model_fields), None)
        if section is None:
            names = [field for kind in values for field in kind.model_fields]
            wrong.append(f"--set {name}: no such setting{did_you_mean(name, names)}")
            continue
        try:
            document = load_document(f"{name}: {text}", f"--set {name}={text}")
            if len(document.data) > 1:
                wrong.append(f"--set {name}: takes one value on one line")
            values[section][name] = getattr(validate(document, section), name)
        except MatrixError as error:
            wrong += [f"{fault.file}: {fault.message}" for fault in error.faults]
    settings, run_settings = values[defaults], values[Running]
    wrong += _idle(settings, model)
    pairs = [*((NAME_OF[a], NAME_OF[b], settings) for a, b in EXCLUSIVE)]
    for first, second, group in [*pairs, ("repeats", "until", run_settings)]:
        if first in group and second in group:
            wrong.append(f"--set {first} and --set {second} exclude each other: give one of them")
    if wrong:
        raise UsageError("\n".join(wrong))
    return Overrides(settings, run_settings | values[Listing], values[Scaling].get("scale", 1.0))


def _idle(settings: Iterable[str], model: MatrixFile) -> list[str]:
    fields = {field for test in model.tests for field in FIELDS[test.test]}
    return [
        f"--set {name}: no test of this matrix has this setting; it belongs to {kinds_with(name)}"
        for name in settings
        if FIELD_OF[name] not in fields
    ]
