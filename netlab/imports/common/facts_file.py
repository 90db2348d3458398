"""The pydantic model and the reader of a file with facts about a printed table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, model_validator

from netlab.config.document import Section, read_document, validate
from netlab.store.plan import Remark, StatedDuration, StatedFacts, StatedHost
from netlab.units import parse_seconds


def _seconds(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError("should be a time such as 10s")
    return parse_seconds(value)


Text = Annotated[str, Field(min_length=1, max_length=1000)]
Seconds = Annotated[float, BeforeValidator(_seconds), Field(gt=0, le=1e7)]
PairingNames = Annotated[tuple[Text, ...], Field(strict=False)]  # YAML has lists


class DurationModel(Section):
    """How long trials ran."""

    pairings: PairingNames = ()
    asked_s: Seconds = Field(alias="asked")
    shortest_s: Seconds = Field(alias="shortest")
    longest_s: Seconds = Field(alias="longest")
    where: Text

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.shortest_s > self.longest_s:
            raise ValueError("`shortest` is longer than `longest`")
        return self


class HostFactsModel(Section):
    """Facts about a host, or about all hosts with one operating system."""

    facts: dict[str, str | int | float | bool] = Field(min_length=1)
    where: Text


class RemarkModel(Section):
    """A remark of the document, as text."""

    text: Text
    pairings: PairingNames = ()
    where: Text


class FactsModel(Section):
    """The whole file."""

    source: Text
    durations: list[DurationModel] = Field(default_factory=list)
    hosts: dict[str, HostFactsModel] = Field(default_factory=dict)
    remarks: list[RemarkModel] = Field(default_factory=list)


def read_stated(path: Path) -> StatedFacts:
    """The facts in a file, each with the document and the place in it. Raises MatrixError with
    every fault, UsageError if the file is not readable.
    """
    model = validate(read_document(path), FactsModel)

    def fields(part: Section) -> dict[str, Any]:
        data = part.model_dump()
        place = data.pop("where")
        return {**data, "source": f"{model.source}, {place}"}

    return StatedFacts(
        durations=tuple(StatedDuration(**fields(duration)) for duration in model.durations),
        hosts=tuple(StatedHost(name=name, **fields(host)) for name, host in model.hosts.items()),
        remarks=tuple(Remark(**fields(remark)) for remark in model.remarks),
    )
