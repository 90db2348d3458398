"""The structure of a matrix file: pydantic models made from the table of settings.

A model is made for the keys that a file has: making the types of all settings takes longer than all
else that a small command does. ``matrix.schema.json`` is generated from these models by
``python -m netlab.config.schema``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Annotated, Any, Literal, Union

from pydantic import AfterValidator, Discriminator, Field, Tag, create_model, model_validator

from netlab.config.document import Model, Section, absent
from netlab.config.sections import LIMITS, ExpectBounds, MirrorName, MirrorSection, VariantsSection
from netlab.config.settings import (
    LOAD,
    LOAD_KEYS,
    SETTINGS,
    SETTINGS_OF,
    Confidence,
    HostName,
    Pairing,
    Rate,
    RoleName,
    RoundTripTime,
    Setting,
    Steal,
    WarmUp,
    Within,
    distinct,
    one_or_list,
)
from netlab.kinds import KINDS

RULES = ("replace", "exclude", "override")
"""The keys of a test that have rules for some of its cells, in the order in which they apply."""

MAX_REPEATS = 1000

Repeats = Annotated[int, Field(ge=1, le=MAX_REPEATS)]

_ABOUT_PAIRING = "Server first, such as WL."
_ABOUT_WHEN = "Selects cells: each setting named here has one of the values given."

Names = frozenset[str]
"""Keys that a file has. A model for this file has validators only for them."""

ABSENT: Any = (Any, None)
"""A key that a file does not have, so that its values need no type."""


def _model_of(
    name: str, about: str, settings: tuple[Setting, ...], names: Names, *, axes: bool, **more: Any
) -> type[Section]:
    fields: dict[str, Any] = {
        s.name: (s.axis if axes else s.value, absent(s.about)) if s.name in names else ABSENT
        for s in settings
    }
    model: type[Section] = create_model(name, __base__=Section, __doc__=about, **more, **fields)
    return model


def _list_of(model: Any, most: int = 100) -> Any:
    listed: Any = list[model]
    return Annotated[listed, Field(min_length=1, max_length=most)]


def model_of_test(test: str, names: Names) -> type[Section]:
    """The model of one kind of test: its settings, its rules, its repeats."""
    kind = "".join(word.capitalize() for word in test.split("_"))
    settings = SETTINGS_OF[test]
    pairing = (one_or_list(Pairing), absent(_ABOUT_PAIRING))
    condition = _model_of(f"{kind}When", _ABOUT_WHEN, settings, names, axes=True, pairing=pairing)
    values = _model_of(f"{kind}Values", "Settings, one value each.", settings, names, axes=False)

    def rules(word: str, about: str, about_all: str) -> Any:
        """Rules such as ``{when: …, with: …}`` or ``{when: …, set: …}``."""
        key = "with_" if word == "with" else word
        fields: Any = {"when": (condition, ...), key: (values, Field(alias=word))}
        name = f"{kind}Replace" if word == "with" else f"{kind}Override"
        rule = create_model(name, __base__=Section, __doc__=about, **fields)
        return _list_of(rule), absent(about_all)

    types = {
        "replace": rules(
            "with",
            "Replaces values that the axes give: UDP carries no 65536 bytes.",
            "Applied first: values that replace others.",
        ),
        "exclude": (
            _list_of(condition),
            absent("Applied second: combinations that are not measured."),
        ),
        "override": rules(
            "set",
            "Changes settings of some cells: a longer duration for small messages.",
            "Applied last: settings of some cells; later rules win.",
        ),
    }
    kinds: Any = Literal[test]
    more: dict[str, Any] = {rule: types[rule] if rule in names else ABSENT for rule in RULES}
    if test == "latency_under_load":
        of_load = tuple(setting for setting in settings if setting.name in LOAD_KEYS)
        settings = tuple(setting for setting in settings if setting.name not in LOAD_KEYS)
        about = "The streams that fill the path."
        more[LOAD] = (_model_of("Load", about, of_load, names, axes=True), absent(about))
    return _model_of(
        f"{kind}Test",
        KINDS[test].about,
        settings,
        names,
        axes=True,
        test=(kinds, Field(description="Kind of test.")),
        repeats=(Repeats, absent("Trials per cell of this test; default: the matrix's.")),
        **more,
    )


def defaults_section(names: Names) -> type[Section]:
    """The model of ``defaults:``, with types of the settings ``names``."""
    about = "Settings of every test that takes them and does not set them."
    return _model_of("Defaults", about, SETTINGS, names, axes=True)


class CompareSection(Section):
    """Compares cells with those that differ from them only in the settings named."""

    name: str = Field(min_length=1, max_length=100, description="Title of the comparison.")
    baseline: Any
    contender: Any


def compare_section(names: Names) -> type[CompareSection]:
    """The model of one part of ``compare:``, with types of the settings ``names``."""
    about = "The cells on one side of a comparison: one value of each setting named here."
    side = _cells_model("Side", about, names, axes=False)
    return _narrower(CompareSection, baseline=side, contender=side)


class ExpectSection(ExpectBounds):
    """Expectations of some cells, for `netlab check`."""

    when: Any = absent("Only these cells; default: all cells that have the quantity.")
    unless: Any = absent("Except these cells.")


def expect_section(names: Names) -> type[ExpectSection]:
    """The model of one part of ``expect:``, with types of the settings ``names``."""
    when = _cells_model("ExpectWhen", _ABOUT_WHEN, names, axes=True)
    return _narrower(ExpectSection, when=when, unless=when, **LIMITS)


def _cells_model(name: str, about: str, names: Names, *, axes: bool) -> type[Section]:
    """The model of a section that selects cells of any kind of test."""
    kind: Any = Literal[tuple(KINDS)]
    test, pairing = (one_or_list(kind), one_or_list(Pairing)) if axes else (kind, Pairing)
    return _model_of(
        name,
        about,
        SETTINGS,
        names,
        axes=axes,
        test=(test, absent("Kind of test.")),
        pairing=(pairing, absent(_ABOUT_PAIRING)),
    )


def _narrower(model: type[Model], **types: Any) -> type[Model]:
    """The model with these types of its fields; the fields remain in their order."""
    fields: Any = {name: (type_, model.model_fields[name]) for name, type_ in types.items()}
    made: type[Model] = create_model(
        model.__name__, __base__=model, __doc__=model.__doc__, **fields
    )
    return made


def keys_of(data: object) -> Iterator[str]:
    """Every key in nested data."""
    parts = [data]
    while parts:
        part = parts.pop()
        if isinstance(part, dict):
            yield from part
            parts += part.values()
        elif isinstance(part, list):
            parts += part


MAX_PAIRINGS = 20_000


def _shape(value: object) -> str:
    if isinstance(value, list):
        return "list"
    return "word" if isinstance(value, str) else "section"


class BetweenSection(Section):
    """Every ordered pair of the hosts listed."""

    between: Annotated[
        Union[  # noqa: UP007
            Annotated[Literal["all"], Tag("word")],
            Annotated[
                list[RoleName],
                Field(min_length=1, max_length=1000),
                AfterValidator(distinct),
                Tag("list"),
            ],
        ],
        Discriminator(_shape),
    ] = Field(description="Hosts by name, a host at one of its networks (HOST@NETWORK), or `all`.")
    inside: bool = Field(default=True, description="Whether each host is measured with itself too.")


ListedPairings = Annotated[
    list[Pairing], Field(min_length=1, max_length=MAX_PAIRINGS), AfterValidator(distinct)
]

Pairings = Annotated[
    Union[  # noqa: UP007
        Annotated[ListedPairings, Tag("list")],
        Annotated[Literal["all"], Tag("word")],
        Annotated[BetweenSection, Tag("section")],
    ],
    Discriminator(_shape),
]


class LinkSection(Section):
    """The link between the hosts, for the wire ceilings."""

    rate: Rate
    mtu: int = Field(default=1500, ge=68, le=65535, description="Bytes of an IP packet.")
    vlan: bool = Field(default=False, description="Whether frames carry an 802.1Q tag.")
    hops: int = Field(default=0, ge=0, le=32, description="Store-and-forward routers in between.")
    overhead: int = Field(default=0, ge=0, le=1000, description="Bytes of a tunnel per packet.")


class TargetSection(Section):
    """A longer path that TCP shall fill later: findings name what in the results prevents it."""

    rtt: RoundTripTime = Field(description="Round trip of the whole path.")
    rate: Rate = Field(description="Throughput to reach on it.")


class UntilSection(Section):
    """Repeats a cell until the confidence interval of its mean is this narrow."""

    within: Within = Field(
        description="Maximum half-width of the interval, as a share of the mean."
    )
    confidence: Confidence = Field(default=0.95, description="Confidence level of the interval.")
    at_least: int = Field(default=5, ge=3, le=MAX_REPEATS, description="Minimum number of trials.")
    at_most: int = Field(default=30, ge=3, le=MAX_REPEATS, description="Maximum number of trials.")

    @model_validator(mode="after")
    def _in_order(self) -> UntilSection:
        if self.at_most < self.at_least:
            raise ValueError(
                f"`at_most` ({self.at_most}) is below `at_least` ({self.at_least}): "
                "raise `at_most`, or lower `at_least` (defaults: `at_least` 5, `at_most` 30)"
            )
        return self


class QuietSection(Section):
    """Repeats trials in which a hypervisor gave a host's CPU time to others."""

    steal: Steal = Field(description="Share of a host's CPU time that may be stolen.")
    tries: int = Field(default=3, ge=2, le=10, description="Attempts per trial, at most.")


class SampleSection(Section):
    """Measures only some of the cells, chosen so that the effect of each axis can be estimated."""

    cells: int = Field(ge=1, le=100_000, description="Number of cells to measure.")
    method: Literal["fractional", "latin-hypercube", "random"] = Field(
        default="fractional",
        description="How: nearly orthogonal, each level equally often, or by chance.",
    )
    seed: int = Field(default=1, ge=0, le=2**63 - 1, description="Seed of the choice.")
    pairs: Annotated[
        list[Annotated[list[str], Field(min_length=2, max_length=2), AfterValidator(distinct)]],
        Field(min_length=1, max_length=100),
    ] = absent("Pairs of settings (or `pairing`) whose interactions can be estimated as well.")


class Running(Section):
    """How a matrix is run: how often, in which order, what in parallel."""

    repeats: Repeats = Field(default=1, description="Trials per cell.")
    until: UntilSection = absent()
    quiet: QuietSection = absent()
    sample: SampleSection = absent()
    pause: WarmUp = Field(default=0.0, description="Time between two trials.")
    order: Literal["as-written", "shuffled"] = Field(
        default="as-written", description="shuffled: random within blocks of one trial per cell."
    )
    switching: Literal["seldom", "interleaved"] = Field(
        default="seldom",
        description="seldom: each block measures one variant after the other; interleaved: "
        "variants are switched as `order` says.",
    )
    seed: int = Field(default=1, ge=0, le=2**63 - 1, description="Seed of the shuffled order.")
    parallel: bool = Field(
        default=False, description="Whether pairings that share no host run at the same time."
    )
    common_window: bool = Field(
        default=True,
        description="Whether streams that run at the same time start together and have one common "
        "window.",
    )


class MatrixFile(Running):
    """A matrix: which tests run, between which systems, with which values."""

    # The models that `model_for` makes of this one have the types of the settings.

    title: str = Field(
        default="",
        max_length=200,
        description="Title of the report; default: the name of the file.",
    )
    link: LinkSection = absent()
    target: TargetSection = absent()
    pairings: Pairings = Field(
        description="Server first: systems (WL is Windows and Linux), or hosts by name "
        "(nas+laptop); `all`: every host of the inventory with every other, each way."
    )
    observe: Annotated[
        list[HostName], Field(min_length=1, max_length=9), AfterValidator(distinct)
    ] = absent(
        "Hosts of the inventory that are neither end, such as the device under test: searches "
        "record their load and their drops."
    )
    mirrors: Annotated[dict[MirrorName, MirrorSection], Field(min_length=1, max_length=100)] = (
        absent("Other programs that answer round trips on the server, by name.")
    )
    variants: VariantsSection = absent(
        "Groups of named states of the hosts' own settings; every test is measured in each "
        "combination, unless it has a `variant` of its own."
    )
    defaults: Any = absent()
    tests: list[Any]
    compare: list[CompareSection] = absent("Comparisons in the report.")
    expect: list[ExpectSection] = absent("Expectations that `netlab check` applies to the run.")
    hosts: Any = absent("The inventory, unless it is a separate file.")
    pairs: Any = absent("The hosts of a pairing, by name.")

    @property
    def pairing_names(self) -> list[str]:
        """The pairings as a list; ValueError while they are "every host with every other"."""
        if isinstance(self.pairings, list):
            return self.pairings
        raise ValueError("which hosts there are is not known yet")


_OPTIONAL = frozenset(
    name
    for name, field in MatrixFile.model_fields.items()
    if not field.is_required() and field.default is None
)

_EVERY_NAME = _OPTIONAL | {setting.name for setting in SETTINGS} | {LOAD, *RULES}


def whole_model() -> type[MatrixFile]:
    """The model of every matrix file, with all types."""
    return _narrowed(frozenset(KINDS), _EVERY_NAME)


def model_for(data: Mapping[str, Any]) -> type[MatrixFile]:
    """The model of a matrix file, with types only of the kinds of test, settings and sections that
    it has; it accepts and refuses what the whole model does.
    """
    tests: Any = data.get("tests")
    are_sections = isinstance(tests, list) and all(isinstance(test, dict) for test in tests)
    kinds = [test.get("test") for test in tests] if are_sections else []
    known = kinds and all(isinstance(kind, str) and kind in KINDS for kind in kinds)
    return _narrowed(frozenset(kinds if known else KINDS), _EVERY_NAME.intersection(keys_of(data)))


@lru_cache(maxsize=16)
def _narrowed(kinds: frozenset[str], names: Names) -> type[MatrixFile]:
    fields: dict[str, Any] = dict.fromkeys(_OPTIONAL - names, ABSENT)
    models = tuple(model_of_test(kind, names) for kind in KINDS if kind in kinds)
    test: Any = Union[models]  # noqa: UP007  (made at run time)
    if len(models) > 1:
        test = Annotated[test, Field(discriminator="test")]
    fields["tests"] = (_list_of(test, 1000), ...)
    if "defaults" in names:
        fields["defaults"] = (defaults_section(names), absent())
    for name, section in (("compare", compare_section), ("expect", expect_section)):
        if name in names:
            fields[name] = (_list_of(section(names)), MatrixFile.model_fields[name])
    return create_model("MatrixFile", __base__=MatrixFile, __doc__=MatrixFile.__doc__, **fields)
