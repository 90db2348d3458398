"""Texts of findings about searches: frame sizes, numbers of trials, rates."""

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
    size_samples: Sequence[SizeSample],
    figures: Mapping[str, float | None],
    words: Mapping[str, str] | None = None,
) -> Finding:
    """A finding about some sizes of a group, with the trials that show it."""
    all_words = {**of_sizes(size_samples, group), **(words or {})}
    present = {name: word for name, word in all_words.items() if word}
    return finding(
        kind, group.group, cells_of(size_samples), figures, present, trials_of(size_samples)
    )


def of_sizes(size_samples: Sequence[SizeSample], group: SizeGroup) -> dict[str, str]:
    """The word ``sizes`` of a finding: the frame sizes as a text. If a size has several trials, the
    text has the number of trials that show the finding.
    """
    count, trial_count = len(_trials(size_samples)), sum(size.of_trials for size in size_samples)
    sizes = _sizes(size_samples, group)
    in_words = (
        in_trials(count, trial_count).get("in_trials") if trial_count > len(size_samples) else None
    )
    if in_words is None:
        return {"sizes": sizes}
    return {"sizes": _("{sizes} ({trials})", sizes=sizes, trials=in_words)}


def rates_of(size_samples: Sequence[SizeSample]) -> Message | None:
    """The found rates as a text, such as ``7,440/s at 64 bytes (5 %), …``, with shares of the line
    rate; ``None`` if a rate is not known.
    """
    parts = [
        _(
            "{rate}/s at {size} bytes ({share})",
            rate=f"{size.per_s:,.0f}",
            size=size.frame_bytes,
            share=format_share(round(size.line_share, 4)),
        )
        for size in size_samples
        if size.per_s is not None and size.line_share is not None
    ]
    return joined(", ", parts) if len(parts) == len(size_samples) else None


def trials_of(size_samples: Sequence[SizeSample]) -> tuple[tuple[str, int], ...]:
    """(cell, trial) of all trials in ``size_samples``."""
    return tuple(_trials(size_samples))


def cells_of(size_samples: Sequence[SizeSample]) -> tuple[str, ...]:
    """The cells, with the shortest frames first."""
    return tuple(size.cell for size in size_samples)


def _trials(size_samples: Sequence[SizeSample]) -> list[tuple[str, int]]:
    return [trial.key for size in size_samples for trial in size.trials]


def _sizes(size_samples: Sequence[SizeSample], group: SizeGroup) -> Message:
    all_sizes = [size[0].frame_bytes for size in group.sizes]
    sizes = [sample.frame_bytes for sample in size_samples]
    if len(sizes) == 1:
        return _("at {size} bytes", size=sizes[0])
    if sizes == all_sizes:
        return _("at every frame size")
    first = all_sizes.index(sizes[0])
    if all_sizes[first : first + len(sizes)] != sizes or len(sizes) < 3:
        if all_sizes[first:] == sizes:
            return _("from {size} bytes upwards", size=sizes[0])
        listed = [str(size) for size in sizes]
        return _("at {some} and {last} bytes", some=joined(", ", listed[:-1]), last=listed[-1])
    if first + len(sizes) == len(all_sizes):
        return _("from {size} bytes upwards", size=sizes[0])
    return _("from {first} to {last} bytes", first=sizes[0], last=sizes[-1])
