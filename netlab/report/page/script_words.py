"""The texts that the page's script shows, translated when the page is written. No I/O."""

from __future__ import annotations

import json
from collections.abc import Mapping

from netlab.messages import Message, _
from netlab.report.language.wording import Wording

_WORDS: Mapping[str, Message] = {
    "trials": _("Trials"),
    "trial": _("trial"),
    "trial_number": _("trial {number}"),
    "attempt": _("{trial} (attempt {attempt})"),
    "ended": _("ended"),
    "began": _("began"),
    "why": _("why there is no result"),
    "asked": _("requested"),
    "effective": _("effective"),
    "asked_and_effective": _("Settings: requested and effective values"),
    "differs": _("(not as requested)"),
    "seen": _("seen in trials"),
    "rests": _("evidence"),
    "evidence": _("Figures of this finding, units in their names"),
    "figure": _("figure"),
    "repeat": _("Measure this cell again:"),
    "copy": _("copy"),
    "copied": _("copied"),
    "selected": _("selected: copy it by the keyboard"),
    "setting": _("setting"),
    "value": _("value"),
    "values": _("Values of the record, units in their names"),
    "filter": _("Show names that contain"),
    "filter_rows": _("Show rows that contain"),
    "sort": _("sort by this column"),
    "measured": _("All measured values: {number}"),
    "line": _("{line}: {number} points, {least} to {most}, mean {mean}"),
    "chart": _("{title}, {unit}. {lines}."),
    "chart_and_ceiling": _("{title}, {unit}. {lines}. Wire ceiling {ceiling}."),
    "marked": _("At {from} s: {word}."),
    "means": _("means"),
    "trial_mean": _("trial {number}: mean {mean}"),
    "mean_interval": _("mean {mean}, 95 % interval {low} to {high}"),
    "ceiling": _("wire ceiling {ceiling}"),
    "explore": _("Point at the chart, or tap on it, for its figures."),
    "explore_keys": _(
        "The left and right arrow keys move from point to point, up and down from line "
        "to line; plus and minus zoom, 0 shows the whole chart."
    ),
    "explore_map_keys": _("The arrow keys move from place to place."),
    "spot": _("{row}, {column}: {value} {unit}"),
    "spot_blank": _("{row}, {column}: no figure"),
    "whole": _("whole chart"),
    "share": _("share of the ceiling"),
    "logarithmic": _("logarithmic"),
    "zoom_in": _("zoom in"),
    "zoom_out": _("zoom out"),
    "not_shown": _("This cell cannot be shown"),
    "not_unpacked": _(
        "This browser could not unpack the page’s records ({error}). Use a newer "
        "browser; or netlab export, which writes the records as a table."
    ),
}
"""The script fills in the values in braces."""


def script_words(wording: Wording) -> str:
    """All texts as JSON, by the names that the script uses for them."""
    texts = {name: wording.text(words) for name, words in _WORDS.items()}
    return json.dumps(texts, separators=(",", ":"), ensure_ascii=False)
