"""``--set NAME=VALUE``: what is laid over a matrix file, written as in the file, and checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from netlab.config.document import Section, did_you_mean, load_document, validate
from netlab.config.matrix_model import Defaults, ListedPairings, MatrixFile, Running
from netlab.config.settings import FIELD_OF, NAME_OF, kinds_with
from netlab.errors import MatrixError, UsageError
from netlab.experiment.kinds import EXCLUSIVE, FIELDS


class Scaling(Section):
    """What only ``--set`` may say: it would make a file mean something else than it says."""

    scale: float = Field(default=1.0, gt=0, le=1000, description="Times every count.")


class Listing(Section):
    """The pairings of a file are replaced by a list; the file says which hosts "every host" are."""

    pairings: ListedPairings = Field(description="Server first, such as [LL, WL].")


@dataclass(frozen=True, slots=True)
class Overrides:
    """What is set over a file, by name, as the file would give it."""

    settings: Mapping[str, Any]
    """Of the tests."""
    running: Mapping[str, Any]
    """How the matrix is run, and between whom."""
    scale: float
    """Times every ``count``."""

    @property
    def repeats_are_set(self) -> bool:
        """Whether every cell has the trials said here, whatever its test says."""
        return bool({"repeats", "until"} & self.running.keys())

    def over(self, model: MatrixFile) -> MatrixFile:
        """The model, run as said here; of ``repeats`` and ``until`` one takes the other back."""
        update = dict(self.running)
        if self.repeats_are_set:
            update = {"repeats": 1, "until": None} | update
            tests = [test.model_copy(update={"repeats": None}) for test in model.tests]
            update["tests"] = tests
        return model.model_copy(update=update)


def overrides_of(texts: Mapping[str, str], model: MatrixFile) -> Overrides:
    """``--set`` as a person gives it, by name. UsageError with every fault, one a line."""
    found: dict[type[Section], dict[str, Any]] = {
        Defaults: {}, Running: {}, Listing: {}, Scaling: {}
    }  # fmt: skip
    wrong: list[str] = []
    for name, text in texts.items():
        section = next((each for each in found if name in each.model_fields), None)
        if section is None:
            known = [known for each in found for known in each.model_fields]
            wrong.append(f"--set {name}: no such setting{did_you_mean(name, known)}")
            continue
        try:
            document = load_document(f"{name}: {text}", f"--set {name}={text}")
            if len(document.data) > 1:
                wrong.append(f"--set {name}: one value on one line is what it takes")
            found[section][name] = getattr(validate(document, section), name)
        except MatrixError as error:
            wrong += [f"{fault.file}: {fault.message}" for fault in error.faults]
    settings, running = found[Defaults], found[Running]
    wrong += _idle(settings, model)
    pairs = [*((NAME_OF[a], NAME_OF[b], settings) for a, b in EXCLUSIVE)]
    for first, second, given in [*pairs, ("repeats", "until", running)]:
        if first in given and second in given:
            wrong.append(f"--set {first} and --set {second} exclude each other: give one of them")
    if wrong:
        raise UsageError("\n".join(wrong))
    return Overrides(settings, running | found[Listing], found[Scaling].get("scale", 1.0))


def _idle(settings: Iterable[str], model: MatrixFile) -> list[str]:
    taken = {field for test in model.tests for field in FIELDS[test.test]}
    return [
        f"--set {name}: no test of this matrix takes it; it is a setting of {kinds_with(name)}"
        for name in settings
        if FIELD_OF[name] not in taken
    ]
