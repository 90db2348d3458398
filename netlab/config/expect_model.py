"""The pydantic models of the limits in the ``expect:`` section of a matrix."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from netlab.config.document import Section
from netlab.experiment.expectations import Expectation, Of, What, When
from netlab.units import parse_bytes, parse_per_second, parse_rate, parse_seconds, parse_share

BoundOf = tuple[float, Of]

_KIND = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*(/[a-z0-9]+(-[a-z0-9]+)*)?")
_SHARE_OF = re.compile(r"(?P<share>[^%]*%)\s*(?:of\s+(?:the\s+)?(?P<whole>.*))?", re.DOTALL)


def _share_of(
    reference: Of, parse: Callable[[Any], float], unit: Of
) -> Callable[[object], BoundOf]:
    """A validator of a share, such as ``90 % of the ceiling``, or of a figure with its unit."""

    def check(value: object) -> BoundOf:
        match = _SHARE_OF.fullmatch(value.strip()) if isinstance(value, str) else None
        if match is None:
            return _positive(parse(_scalar(value)), value), unit
        if (match["whole"] or "").strip() != reference:
            raise ValueError(
                f"{value}: should be a share of the {reference}, such as "
                f"`{match['share']} of the {reference}`"
            )
        share = _positive(parse_share(match["share"]), value)
        if share > 1:
            raise ValueError(f"{value} is more than 100 %")
        return share, reference

    return check


def _in(parse: Callable[[Any], float], unit: Of) -> Callable[[object], BoundOf]:
    """A validator of a figure above 0."""
    return lambda value: (_positive(parse(_scalar(value)), value), unit)


def _loss(value: object) -> BoundOf:
    share = parse_share(_scalar(value))
    if share >= 1:
        raise ValueError(f"{value} is not below 100 %")
    return share, "share"


def _worse(value: object) -> BoundOf:
    share = _positive(parse_share(_scalar(value)), value)
    if share >= 1:
        raise ValueError(f"{value} is not below 100 %")
    return share, "baseline"


def _scalar(value: object) -> Any:
    if isinstance(value, list | dict):
        raise ValueError("should be one value")
    return value


def _positive(number: float, value: object) -> float:
    if not number > 0:
        raise ValueError(f"{value} is not above 0")
    return number


def _as(*examples: str) -> WithJsonSchema:
    return WithJsonSchema(
        {"anyOf": [{"type": "number"}, {"type": "string", "examples": list(examples)}]}
    )


def _nanoseconds(value: Any) -> float:
    return 1e9 * parse_seconds(value)


Throughput = Annotated[
    Any,
    BeforeValidator(_share_of("ceiling", parse_rate, "bit/s")),
    _as("90 % of the ceiling", "80Mbit"),
]
Frames = Annotated[
    Any,
    BeforeValidator(_share_of("line rate", parse_per_second, "1/s")),
    _as("90 % of the line rate", "5000/s"),
]


def _forbidden(value: object) -> tuple[str, ...]:
    words = value if isinstance(value, list) else [value]
    for word in words:
        if not isinstance(word, str) or _KIND.fullmatch(word) is None:
            raise ValueError(
                f"{word}: should be `warning`, `note` or a kind of finding (docs/findings.md)"
            )
    if not words or len({*words}) < len(words):
        raise ValueError("forbids nothing" if not words else "names the same word twice")
    return tuple(words)


Forbidden = Annotated[
    Any,
    BeforeValidator(_forbidden),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "examples": ["warning"]},
                {"type": "array", "items": {"type": "string"}, "examples": [["warning", "step"]]},
            ]
        }
    ),
]
Payload = Annotated[Any, BeforeValidator(_in(parse_bytes, "bytes")), _as("1472")]
RoundTripBound = Annotated[Any, BeforeValidator(_in(_nanoseconds, "ns")), _as("500us")]
LossBound = Annotated[Any, BeforeValidator(_loss), _as("0.1 %")]
Worse = Annotated[Any, BeforeValidator(_worse), _as("5 %")]


class AtLeastThroughput(Section):
    """Minimum throughput of every trial."""

    at_least: Throughput = Field(description="A share of the wire ceiling, or bit/s.")


class AtMostLoss(Section):
    """Maximum share of lost messages in every trial."""

    at_most: LossBound = Field(description="Of the messages sent.")


class AtMostRoundTrip(Section):
    """Maximum mean round trip, or transaction, of every trial."""

    at_most: RoundTripBound = Field(description="The mean of a trial.")


class AtLeastPayload(Section):
    """Minimum payload that travels in one frame."""

    at_least: Payload = Field(description="Bytes.")


class AtLeastFrames(Section):
    """Minimum of the highest rate without loss."""

    at_least: Frames = Field(description="A share of the line rate, or frames a second.")


class NoWorse(Section):
    """Limit compared with the run that `netlab check --baseline` names."""

    no_worse_by: Worse = Field(description="Share of the baseline's mean.")


class ExpectBounds(Section):
    """Bounds on the cells' quantities; all bounds of one section apply to the same cells."""

    throughput: AtLeastThroughput = Field(default=None)  # type: ignore[assignment]  # never null
    loss: AtMostLoss = Field(default=None)  # type: ignore[assignment]
    round_trip: AtMostRoundTrip = Field(default=None)  # type: ignore[assignment]
    payload: AtLeastPayload = Field(default=None)  # type: ignore[assignment]
    frames: AtLeastFrames = Field(default=None)  # type: ignore[assignment]
    baseline: NoWorse = Field(default=None)  # type: ignore[assignment]
    no: Forbidden = Field(
        default=None, description="Kinds of findings that must not occur; `warning`: any warning."
    )

    @model_validator(mode="after")
    def _something(self) -> ExpectBounds:
        if not self.model_fields_set & {*_BOUNDS, "no"}:
            raise ValueError(f"expects nothing: give one of {', '.join(_BOUNDS)} or `no`")
        return self

    def expectations(self, when: When, unless: When) -> tuple[Expectation, ...]:
        """One expectation per quantity, in the order of the fields, and one per kind of finding."""
        bounds = (
            _expectation(what, getattr(self, what), when, unless)
            for what in _BOUNDS
            if what in self.model_fields_set
        )
        return (*bounds, *(_without(word, when, unless) for word in self.no or ()))


_BOUNDS: Mapping[What, str] = {
    "throughput": "at_least",
    "loss": "at_most",
    "round_trip": "at_most",
    "payload": "at_least",
    "frames": "at_least",
    "baseline": "no_worse_by",
}


def _without(word: str, when: When, unless: When) -> Expectation:
    return Expectation(
        what="no",
        bound="at most",
        limit=0,
        of="findings",
        when=when,
        unless=unless,
        forbidden=word,
    )


def _expectation(what: What, section: Section, when: When, unless: When) -> Expectation:
    limit, of = getattr(section, _BOUNDS[what])
    return Expectation(
        what=what,
        bound="at least" if _BOUNDS[what] == "at_least" else "at most",
        limit=limit,
        of=of,
        when=when,
        unless=unless,
    )
