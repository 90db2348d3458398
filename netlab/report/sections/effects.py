"""What matters: the share of each setting in the differences, and the sizes of the effects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netlab.messages import Message, _, joined
from netlab.report.tables.elements import Part, Table, table
from netlab.report.text.phrases import spanned
from netlab.report.write.text import plain
from netlab.results.effects import KindEffects, axis_words, level_words
from netlab.stats.effects import AxisEffect, Effects, Term
from netlab.terminal import fitted, printable_lines
from netlab.trial.figures import FigureColumn, Shown
from netlab.units import format_share, plain_figures

NAME = "effects"


def part(kinds: Sequence[KindEffects]) -> Part | None:
    """The section of the page; ``None`` if nothing has two settings that vary."""
    known = [kind for kind in kinds if kind.effects is not None]
    if not known:
        return None
    remarks = [
        _("{what}: {remarks}", what=kind.heading, remarks=joined("; ", remarks_of(kind)))
        for kind in known
    ]
    sheets = [sheet for kind in known for sheet in sheets_of(kind)]
    return Part(
        name=NAME,
        title=_("What matters"),
        paragraphs=(_MEANING, *remarks),
        sheets=tuple(sheets[::2]),
        details=tuple(sheets[1::2]),
    )


def as_text(kinds: Sequence[KindEffects], width: int = 80) -> str:
    """For each kind of test and quantity: verdict, terms, sizes and remarks, for a terminal."""
    text = "\n\n".join("\n".join(_lines(kind, width)) for kind in kinds)
    return fitted(printable_lines(text), width)


def _lines(kind: KindEffects, width: int) -> Iterator[str]:
    if not (sheets := sheets_of(kind)):
        yield kind.sentence
        return
    shares, sizes = sheets
    yield plain(shares, width)
    for line in sizes.lines:
        yield f"  {line.label}: {'; '.join(filter(None, (place.words for place in line.places)))}"
    for remark in remarks_of(kind):
        yield f"  {remark}"


def sheets_of(kind: KindEffects) -> tuple[Table, ...]:
    """The table of shares, and the table of sizes; none without effects."""
    effects = kind.effects
    if effects is None:
        return ()
    terms = [(term_words(term, kind), "", term) for term in effects.terms]
    shares: list[FigureColumn[Term]] = [FigureColumn(_("share"), _share)]
    if effects.degrees:
        shares.append(FigureColumn(_("95 % interval"), _limits))
    largest = [(axis_words(size.axis), "", size) for size in largest_sizes(effects)]

    def at_most(size: AxisEffect) -> Message:
        most = difference(effects, size.at_most, kind.unit)
        return _("at most {size}", size=most) if effects.degrees else _("up to {size}", size=most)

    columns: list[FigureColumn[AxisEffect]] = [
        FigureColumn(_("difference"), at_most),
        FigureColumn(means_words(effects), lambda size: joined(" ", [_means(size), kind.unit])),
        FigureColumn(_("where"), where),
    ]
    if not any(map(where, (size for _axis, _cell, size in largest))):
        del columns[2]
    corner = _("setting")
    sizes = table(_("{what}: sizes", what=kind.heading), corner, columns, largest)
    return table(kind.sentence, corner, shares, terms), sizes


def means_words(effects: Effects) -> Message:
    """What the means of levels are called: those of logarithms are geometric."""
    return _("geometric means") if effects.logarithmic else _("means")


def largest_sizes(effects: Effects) -> Iterator[AxisEffect]:
    """Of each axis the combination of the others in which its levels differ most."""
    for axis in effects.axes:
        sizes = [size for size in effects.sizes if size.axis == axis]
        if sizes:
            yield max(sizes, key=lambda size: size.at_most)


def term_words(term: Term, kind: KindEffects) -> Message:
    """The axes of a term of the kind's effects."""
    words: Message = joined(" × ", map(axis_words, term.axes))
    effects = kind.effects
    if kind.sample and effects and len(effects.axes) == len(term.axes) > 2:
        words = _("all other interactions")
    elif len(term.axes) > 3:
        words = _("three or more settings together")
    if effects and term is effects.terms[-1] and not effects.degrees:
        return _("{setting}, or noise", setting=words)
    return words


def _share(term: Term) -> Shown:
    if not term.degrees:
        return Shown(text="–")
    return Shown(100 * term.share, text=joined("", [f"{100 * term.share:.1f}", " %"]), unit="%")


def _limits(term: Term) -> str:
    if term.low is None or term.high is None:
        return "–"
    return joined("", [spanned(f"{100 * term.low:.1f}", f"{100 * term.high:.1f}"), " %"])


def _means(size: AxisEffect) -> Message:
    """The means of the levels with their intervals, of many levels the lowest and the highest."""
    order = sorted(size.means, key=size.means.__getitem__)
    levels = [*size.means] if len(order) <= 3 else [order[0], order[-1]]
    shown = []
    for level in levels:
        middle, *ends = (plain_figures(figure, 4) for figure in size.means[level])
        words: list[str] = [level_words(size.axis, level), middle]
        if ends:
            words.append(joined("", ["[", spanned(*ends), "]"]))
        shown.append(joined(" ", words))
    return joined(", ", shown)


def where(size: AxisEffect) -> str:
    """The levels of the axes that interact with this one."""
    places = [(axis_words(name), level_words(name, level)) for name, level in size.within.items()]
    if not places:
        return ""
    return _("at {places}", places=joined(", ", [joined(" ", place) for place in places]))


def difference(effects: Effects, size: float, unit: str) -> str:
    """The size of an effect: in the unit, or on the logarithmic scale as a ratio."""
    if not effects.logarithmic:
        return f"{plain_figures(size)} {unit}"
    if size < 1:
        return format_share(size, 2)
    return _("{ratio} times", ratio=plain_figures(1 + size))


def remarks_of(kind: KindEffects) -> Iterator[Message]:
    """Scale, noise, and what is not known."""
    effects = kind.effects
    if effects is None:
        return
    if effects.logarithmic:
        yield _("scale: logarithm, as settings act as factors; means are geometric")
    else:
        yield _("scale: {unit}", unit=kind.unit)
    if effects.degrees:
        yield _(
            "noise: standard deviation {spread}, {trials} trials a cell; shares are without it",
            spread=difference(effects, effects.deviation, kind.unit),
            trials=spanned(*map(str, effects.trials)),
        )
    else:
        yield _("noise: not known, as no cell has two trials; it is part of the shares")
    if effects.empty or kind.blank_cells:
        yield _(
            "empty: {empty} of {all} combinations; planned cells without a figure: {blank}",
            **{"empty": effects.empty, "all": effects.cells + effects.empty},
            blank=kind.blank_cells,
        )
        if kind.sample:
            yield _("not measured, as the run is a sample: {sample}", sample=kind.sample)
    lost = [term for term in effects.terms if term.lost]
    if lost:
        words = [term_words(term, kind) for term in lost]
        words = [
            _("{term} (in part)", term=one) if term.degrees else one
            for one, term in zip(words, lost, strict=True)
        ]
        yield _("not known, as cells are empty: {terms}", terms=joined(", ", words))
    for own, axis in kind.follows.items():
        yield _("{setting} varies only with {axis}", setting=axis_words(own), axis=axis_words(axis))


_MEANING = _(
    "The share of the differences between the cells’ means that each setting explains, and each "
    "pair of settings that acts only together (×), without noise. A difference is that of the "
    "lowest and the highest mean of a setting’s values; if settings interact, the largest one "
    "among the combinations, and where it is."
)
