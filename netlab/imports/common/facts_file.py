"""What a file of facts beside a printed table may say, as a pydantic model, and how it is read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, model_validator

from netlab.config.document import Section, read_document, validate
from netlab.store.source_facts import Remark, Stated, StatedDuration, StatedHost
from netlab.units import parse_seconds


def _seconds(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError("a time such as 10s is wanted")
    return parse_seconds(value)


def _listed(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


Text = Annotated[str, Field(min_length=1, max_length=1000)]
Seconds = Annotated[float, BeforeValidator(_seconds), Field(gt=0, le=1e7)]
PairingNames = Annotated[tuple[Text, ...], BeforeValidator(_listed)]


class DurationModel(Section):
    """How long trials ran."""

    pairings: PairingNames = ()
    asked: Seconds
    shortest: Seconds
    longest: Seconds
    where: Text

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.shortest > self.longest:
            raise ValueError("`shortest` is longer than `longest`")
        return self


class HostFactsModel(Section):
    """A host, or the hosts that run a system."""

    facts: dict[str, str | int | float | bool] = Field(min_length=1)
    where: Text


class RemarkModel(Section):
    """What is said in words."""

    text: Text
    pairings: PairingNames = ()
    where: Text


class FactsModel(Section):
    """The whole file."""

    source: Text
    durations: list[DurationModel] = Field(default_factory=list)
    hosts: dict[str, HostFactsModel] = Field(default_factory=dict)
    remarks: list[RemarkModel] = Field(default_factory=list)


def read_stated(path: Path) -> Stated:
    """What a file of facts says, each with its source: the document, and where in it.

    Raises MatrixError with every fault as ``file:line:column``, UsageError where it cannot be read.
    """
    said = validate(read_document(path), FactsModel)

    def source(where: str) -> str:
        return f"{said.source}, {where}"

    return Stated(
        durations=tuple(
            StatedDuration(
                pairings=each.pairings,
                asked_s=each.asked,
                shortest_s=each.shortest,
                longest_s=each.longest,
                source=source(each.where),
            )
            for each in said.durations
        ),
        hosts=tuple(
            StatedHost(name=name, facts=each.facts, source=source(each.where))
            for name, each in said.hosts.items()
        ),
        remarks=tuple(
            Remark(text=each.text, pairings=each.pairings, source=source(each.where))
            for each in said.remarks
        ),
    )
