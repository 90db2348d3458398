"""The shape of a matrix file: pydantic models made of the table of settings.

``matrix.schema.json`` is generated from these models by ``python -m netlab.config.schema``.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Union

from pydantic import AfterValidator, Discriminator, Field, Tag, create_model, model_validator

from netlab.config.document import Section
from netlab.config.expect_model import Expecting
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

KINDS = {
    "stream": "Messages one way, or both ways at once.",
    "round_trip": "Requests from the client, answered by the server's mirror: latency.",
    "connect": "Transactions with a TCP connection each: the price of connecting.",
    "payload_search": "The largest payload that travels in one frame, and the path's MTU.",
    "throughput_search": "The highest rate that passes without loss (RFC 2544).",
    "latency_under_load": "Round trips before, while and after streams fill the path.",
}
"""The kinds of test. Every combination of the settings' values of one is a cell."""

MAX_REPEATS = 1000

Repeats = Annotated[int, Field(ge=1, le=MAX_REPEATS)]

_ABOUT_PAIRING = "Server first, such as WL."


def _model_of(
    name: str, about: str, settings: tuple[Setting, ...], *, axes: bool, **more: Any
) -> type[Section]:
    fields: dict[str, Any] = {
        s.name: (s.axis if axes else s.value, Field(default=None, description=s.about))
        for s in settings
    }
    made: type[Section] = create_model(name, __base__=Section, __doc__=about, **more, **fields)
    return made


def _rules(model: Any, about: str) -> Any:
    listed: Any = list[model]
    return (
        Annotated[listed, Field(min_length=1, max_length=100)],
        Field(default=None, description=about),
    )


def _rule(name: str, about: str, when: type[Section], then: type[Section], word: str) -> Any:
    """``{when: …, with: …}`` or ``{when: …, set: …}``."""
    key = "with_" if word == "with" else word
    fields: dict[str, Any] = {"when": (when, ...), key: (then, Field(alias=word))}
    return create_model(name, __base__=Section, __doc__=about, **fields)


def _test_model(test: str) -> type[Section]:
    """What may be said of one kind of test: its settings, its rules, its repeats."""
    kind = "".join(word.capitalize() for word in test.split("_"))
    settings = SETTINGS_OF[test]
    when = _model_of(
        f"{kind}When",
        "The cells meant: of each setting named here, one of the values.",
        settings,
        axes=True,
        pairing=(one_or_list(Pairing), Field(default=None, description=_ABOUT_PAIRING)),
    )
    values = _model_of(f"{kind}Values", "Settings, one value each.", settings, axes=False)
    replace = _rule(
        f"{kind}Replace",
        "Where the axes give these values, take others: UDP carries no 65536 bytes.",
        when,
        values,
        "with",
    )
    override = _rule(
        f"{kind}Override",
        "Cells whose settings differ from the others': a longer duration for small messages.",
        when,
        values,
        "set",
    )
    kinds: Any = Literal[test]
    more: dict[str, Any] = {}
    if test == "latency_under_load":
        of_load = tuple(each for each in settings if each.name in LOAD_KEYS)
        settings = tuple(each for each in settings if each.name not in LOAD_KEYS)
        model = _model_of("Load", "The streams that fill the path.", of_load, axes=True)
        more[LOAD] = (model, Field(default=None, description="The streams that fill the path."))
    return _model_of(
        f"{kind}Test",
        KINDS[test],
        settings,
        axes=True,
        test=(kinds, Field(description="Kind of test.")),
        repeats=(
            Repeats,
            Field(default=None, description="Trials of each of its cells, in place of the whole's"),
        ),
        replace=_rules(replace, "First: values taken in place of others."),
        exclude=_rules(when, "Then: combinations that are not measured."),
        override=_rules(override, "Last: settings of some cells; later ones win."),
        **more,
    )


TESTS: dict[str, type[Section]] = {test: _test_model(test) for test in KINDS}

Defaults = _model_of(
    "Defaults", "Settings of every test that takes them and has not its own.", SETTINGS, axes=True
)

SideModel = _model_of(
    "Side",
    "The cells on one side of a comparison: one value of each setting named here.",
    SETTINGS,
    axes=False,
    test=(Literal[tuple(KINDS)], Field(default=None, description="Kind of test.")),
    pairing=(Pairing, Field(default=None, description=_ABOUT_PAIRING)),
)


ExpectWhen = _model_of(
    "ExpectWhen",
    "The cells meant: of each setting named here, one of the values.",
    SETTINGS,
    axes=True,
    test=(
        one_or_list(Literal[tuple(KINDS)]),
        Field(default=None, description="Kind of test."),
    ),
    pairing=(one_or_list(Pairing), Field(default=None, description=_ABOUT_PAIRING)),
)


def _shape(value: object) -> str:
    """Which branch of a union a value is meant for."""
    if isinstance(value, list):
        return "list"
    return "word" if isinstance(value, str) else "section"


class CompareSection(Section):
    """Cells laid beside those that differ from them in the settings named, and in nothing else."""

    name: str = Field(min_length=1, max_length=100, description="Heads the comparison.")
    baseline: SideModel  # type: ignore[valid-type]  # made of the table of settings
    contender: SideModel  # type: ignore[valid-type]


class ExpectSection(Expecting):
    """What is expected of some cells, for `netlab check`."""

    when: ExpectWhen = Field(  # type: ignore[valid-type]  # made of the table of settings
        default=None, description="Only these cells; without it all that have the quantity."
    )
    unless: ExpectWhen = Field(  # type: ignore[valid-type]
        default=None, description="But not these."
    )


class BetweenSection(Section):
    """Every ordered pair of some hosts of the inventory."""

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
    inside: bool = Field(
        default=True,
        description="Whether pairs within one machine, each host with itself, are measured too.",
    )


ListedPairings = Annotated[
    list[Pairing], Field(min_length=1, max_length=1000), AfterValidator(distinct)
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
    hops: int = Field(
        default=0,
        ge=0,
        le=32,
        description="Routers between the hosts: each takes a frame in and sends it again.",
    )


class TargetSection(Section):
    """A longer path that TCP is to fill: the findings say what of what was measured stands against
    it.
    """

    rtt: RoundTripTime = Field(description="Round trip of the whole path.")
    rate: Rate = Field(description="Of payload.")


class UntilSection(Section):
    """Trials of a cell go on until the interval of their mean is this tight."""

    within: Within = Field(description="Half the interval, as a share of the mean.")
    confidence: Confidence = Field(default=0.95, description="Of the interval.")
    at_least: int = Field(default=5, ge=3, le=MAX_REPEATS, description="Trials before any look.")
    at_most: int = Field(default=30, ge=3, le=MAX_REPEATS, description="Trials, tight or not.")

    @model_validator(mode="after")
    def _in_order(self) -> UntilSection:
        if self.at_most < self.at_least:
            raise ValueError(
                f"`at_most` ({self.at_most}) is below `at_least` ({self.at_least}): "
                "give both, the smaller one first"
            )
        return self


class QuietSection(Section):
    """Trials in which a hypervisor took a host's CPUs away are measured again."""

    steal: Steal = Field(description="Share of a host's CPU time that may be stolen.")
    tries: int = Field(default=3, ge=2, le=10, description="Attempts at a trial in all.")


class Running(Section):
    """How a matrix is run: how often, in which order, how much at the same time."""

    repeats: Repeats = Field(default=1, description="Trials of each cell.")
    until: UntilSection = Field(default=None)  # type: ignore[assignment]  # absent, never null
    quiet: QuietSection = Field(default=None)  # type: ignore[assignment]  # absent, never null
    pause: WarmUp = Field(default=0.0, description="Time between two trials.")
    order: Literal["as-written", "shuffled"] = Field(
        default="as-written", description="Shuffled: in blocks, every cell once a block."
    )
    seed: int = Field(default=1, ge=0, le=2**63 - 1, description="Of the shuffled order.")
    parallel: bool = Field(
        default=False, description="Whether pairings that share no host run at the same time."
    )
    common_window: bool = Field(
        default=True,
        description="Whether streams that run at the same time start together, and one window "
        "cuts them all.",
    )


Test: Any = Annotated[Union[tuple(TESTS.values())], Field(discriminator="test")]  # noqa: UP007


class MatrixFile(Running):
    """A matrix: which tests run, between which systems, over which values."""

    title: str = Field(
        default="",
        max_length=200,
        description="What the report is headed with; without one the name of the file.",
    )
    link: LinkSection = Field(default=None)  # type: ignore[assignment]  # absent, but never null
    target: TargetSection = Field(default=None)  # type: ignore[assignment]  # absent, never null
    pairings: Pairings = Field(
        description="Server first: systems (WL is Windows and Linux), or hosts by name "
        "(nas+laptop); `all`: every host of the inventory with every other, each way."
    )
    observe: Annotated[
        list[HostName], Field(min_length=1, max_length=9), AfterValidator(distinct)
    ] = Field(
        default=None,  # type: ignore[arg-type]  # absent, never null
        description="Hosts of the inventory that are neither end, such as the device under test: "
        "their load and their drops stand in the records of searches.",
    )
    defaults: Defaults = Field(default=None)  # type: ignore[valid-type]
    tests: Annotated[list[Test], Field(min_length=1, max_length=1000)]
    compare: Annotated[list[CompareSection], Field(min_length=1, max_length=100)] = Field(
        default=None,  # type: ignore[arg-type]
        description="What the report lays beside each other.",
    )
    expect: Annotated[list[ExpectSection], Field(min_length=1, max_length=100)] = Field(
        default=None,  # type: ignore[arg-type]
        description="What `netlab check` holds the run against.",
    )
    hosts: Any = Field(
        default=None, description="The inventory, where it is not a file of its own."
    )
    pairs: Any = Field(default=None, description="The hosts of a pairing, by name.")

    @property
    def each_pairing(self) -> list[str]:
        """The pairings one by one, once "every host with every other" has become a list."""
        if isinstance(self.pairings, list):
            return self.pairings
        raise ValueError("which hosts there are is not known yet")
