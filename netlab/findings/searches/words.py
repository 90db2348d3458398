"""Words of findings about searches: which frame sizes, how many trials, which rates. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from netlab.findings.finding import Finding, Kind, finding
from netlab.findings.searches.sample import SizeGroup, SizeSample
from netlab.findings.trial_words import in_trials
from netlab.messages import Message, _, joined
from netlab.units import format_share


def of_searches(
    kind: Kind,
    group: SizeGroup,
    shown: Sequence[SizeSample],
    figures: Mapping[str, float | None],
    words: Mapping[str, str] | None = None,
) -> Finding:
    """A finding about some sizes of a group, in the trials that show it."""
    said = {**of_sizes(shown, group), **(words or {})}
    kept = {name: word for name, word in said.items() if word}
    return finding(kind, group.group, cells_of(shown), figures, kept, trials_of(shown))


def of_sizes(shown: Sequence[SizeSample], group: SizeGroup) -> dict[str, str]:
    """Which frame sizes, with their trials where not each of several shows it."""
    those, every = len(_trials(shown)), sum(each.of_trials for each in shown)
    sizes = _sizes(shown, group)
    said = in_trials(those, every).get("in_trials") if every > len(shown) else None
    return {"sizes": sizes if said is None else _("{sizes} ({trials})", sizes=sizes, trials=said)}


def rates_of(shown: Sequence[SizeSample]) -> Message | None:
    """``7,440/s at 64 bytes (5 % of the line rate), …``; ``None`` where one is not known."""
    parts = [
        _(
            "{rate}/s at {size} bytes ({share})",
            rate=f"{each.per_s:,.0f}",
            size=each.frame_bytes,
            share=format_share(round(each.line_share, 4)),
        )
        for each in shown
        if each.per_s is not None and each.line_share is not None
    ]
    return joined(", ", parts) if len(parts) == len(shown) else None


def trials_of(shown: Sequence[SizeSample]) -> tuple[tuple[str, int], ...]:
    """Cell and trial of all that was judged."""
    return tuple(_trials(shown))


def cells_of(shown: Sequence[SizeSample]) -> tuple[str, ...]:
    """The cells, those of the shortest frames first."""
    return tuple(each.cell for each in shown)


def _trials(shown: Sequence[SizeSample]) -> list[tuple[str, int]]:
    return [trial.key for each in shown for trial in each.trials]


def _sizes(shown: Sequence[SizeSample], group: SizeGroup) -> Message:
    every = [size[0].frame_bytes for size in group.sizes]
    its = [each.frame_bytes for each in shown]
    if len(its) == 1:
        return _("at {size} bytes", size=its[0])
    if its == every:
        return _("at every frame size")
    first = every.index(its[0])
    if every[first : first + len(its)] != its or len(its) < 3:
        if every[first:] == its:
            return _("from {size} bytes upwards", size=its[0])
        listed = [str(each) for each in its]
        return _("at {some} and {last} bytes", some=joined(", ", listed[:-1]), last=listed[-1])
    if first + len(its) == len(every):
        return _("from {size} bytes upwards", size=its[0])
    return _("from {first} to {last} bytes", first=its[0], last=its[-1])
