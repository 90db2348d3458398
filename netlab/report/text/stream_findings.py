"""Evidence of findings → figures as a report writes them; the names of stream limits. No I/O.

A finding is a statement about a run; its evidence is the figures that show it, by name. A limit is
what limits a stream (a bottleneck). The wire ceiling is the highest payload rate that the link's
framing allows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from string import Formatter

from netlab.findings.finding import Kind
from netlab.findings.kinds.kind import Templates
from netlab.findings.streams.host_limits import STARVED
from netlab.messages import Message, _, counted
from netlab.report.text.phrases import throughput
from netlab.stats import rounded
from netlab.units import format_bytes, format_rate, format_seconds, format_share, plain_figures

CALLED: Mapping[Kind, Message] = {kind: kind.limit for kind in Kind if kind.limit is not None}
"""Kind of limit → its name in words."""

Figures = Mapping[str, float]


def filled(templates: Templates, value_of: Callable[[str], str | None]) -> Message | None:
    """The first template whose values are all known, filled in; ``None`` if there is none."""
    for template in templates:
        names = [name for field in Formatter().parse(template) if (name := field[1])]
        values = {name: value_of(name) for name in names}
        if None not in values.values():
            return _(template.id, **values)
    return None


def shown_by(kind: Kind, evidence: Figures) -> str:
    """The figures that show a limit, in words; empty if the kind of limit has no such text."""
    return filled(kind.shown, lambda name: value_of(name, evidence)) or ""


def value_of(name: str, evidence: Figures) -> str | None:
    """A figure by its name in a template; ``None`` if it is not known."""
    if name in _OF_SEVERAL:
        return _OF_SEVERAL[name](evidence)
    if name in _COUNTED:
        of, words = _COUNTED[name]
        return words(round(evidence[of])) if of in evidence else None
    if name not in evidence:
        return None
    form = next(form for ending, form in _FORMS.items() if name.endswith(ending))
    return form(evidence[name])


def percent(share: float, digits: int = 0) -> str:
    """A share in per cent, such as ``8 %``."""
    return f"{rounded(100 * share, digits)} %"


def _ceiling_share(share: float) -> str:
    """A share of the ceiling with three significant digits, or with two if it is below 10 %."""
    return format_share(share, 3 if share >= 0.1 else 2)


def _time(ns: float) -> str:
    """A time with two significant digits."""
    return format_seconds(float(f"{ns / 1e9:.2g}")).replace("us", "µs")


def _thousands(count: float) -> str:
    """A count with two significant digits, and with a comma for thousands."""
    return f"{float(f'{count:.2g}'):,.0f}"


def _whole(value: float) -> str:
    return str(rounded(value, 0))


_FORMS: Mapping[str, Callable[[float], str]] = {
    "link_rate_bit_per_s": format_rate,
    "interface_speed_bit_per_s": format_rate,
    "offered_bit_per_s": format_rate,
    "target_bit_per_s": format_rate,
    "step_rate_bit_per_s": format_rate,
    "rate_limit_bit_per_s": lambda rate: format_rate(float(f"{rate:.3g}")),
    "window_limit_bit_per_s": lambda rate: format_rate(float(f"{rate:.3g}")),
    "highest_ceiling_bit_per_s": throughput,
    "_bit_per_s": throughput,
    "found_frames_per_s": lambda rate: f"{rate:,.0f}",
    "_per_s": _thousands,
    "_drops": _thousands,
    "ceiling_share": _ceiling_share,
    "lost_share": lambda share: percent(share, 1),
    "change_share": lambda share: ("+" if share > 0 else "") + format_share(share, 2),
    "cost_share": lambda share: percent(share, 1),
    "_share": percent,
    "message_bytes": _whole,
    "mtu_bytes": _whole,
    "_bytes": lambda size: format_bytes(round(size)),
    "trip_ns": lambda ns: format_seconds(float(f"{ns / 1e9:.3g}")).replace("us", "µs"),
    "clock_step_ns": lambda step: f"{step / 1e9:+.1f} s",
    "_ns": _time,
    "_us": lambda time_us: _time(1000 * time_us),
    "_s": format_seconds,
    "_ppm": lambda ppm: f"{ppm:+.0f} ppm",
    "packets": lambda count: f"{count:,.0f}",
    "_messages": lambda count: f"{count:,.0f}",
    "_frames": lambda count: f"{count:,.0f}",
    "ratio": lambda ratio: plain_figures(ratio, 2),
    "": _whole,
}
"""End of a figure's name → function that formats the figure; the first matching end is used."""


def _segments(number: int) -> Message:
    return counted("{number} segment", "{number} segments", number)


def _frames(number: int) -> Message:
    return counted("{number} frame", "{number} frames", number)


def _few_frames(number: int) -> Message:
    return counted(
        "the {number} frame that they dropped may belong to another protocol",
        "the {number} frames that they dropped may belong to other protocols",
        number,
    )


def _never_sent(number: int) -> Message:
    return counted("{number} message was never sent", "{number} messages were never sent", number)


def _left_out(number: int) -> Message:
    return counted("{number} message that was due", "{number} messages that were due", number)


def _trials(number: int) -> Message:
    return counted("{number} trial", "{number} trials", number)


def _pairs(number: int) -> Message:
    return counted("{number} pair of cells", "{number} pairs of cells", number)


_COUNTED: Mapping[str, tuple[str, Callable[[int], Message]]] = {
    "segments": ("sent_again", _segments),
    "resent_segments": ("retransmissions", _segments),
    "those_frames": ("dropped_frames", _frames),
    "those_few": ("dropped_frames", _few_frames),
    "frames_here": ("dropped_here", _frames),
    "few_here": ("dropped_here", _few_frames),
    "never_sent": ("dropped_frames", _never_sent),
    "left_out": ("skipped_messages", _left_out),
    "all_trials": ("of_trials", _trials),
    "all_pairs": ("compared", _pairs),
}
"""Name in a template → (name of a count in the evidence, function that puts it in words)."""


def _most(*names: str) -> Callable[[Figures], str | None]:
    def most(figures: Figures) -> str | None:
        shares = [figures[name] for name in names if name in figures]
        return percent(max(shares)) if shares else None

    return most


def _starving(name: str) -> Callable[[Figures], str | None]:
    return lambda figures: percent(figures[name]) if figures.get(name, 0) > STARVED else None


def _uneven(figures: Figures) -> str | None:
    half_ns, p90_ns = figures["send_call_median_ns"], figures["send_call_p90_ns"]
    return _time(p90_ns) if p90_ns > 2 * half_ns else None


_OF_SEVERAL: Mapping[str, Callable[[Figures], str | None]] = {
    "of_ceiling": lambda figures: (
        percent(figures["ceiling_share"], 1) if "ceiling_share" in figures else None
    ),
    "uneven_p90": _uneven,
    "most_stolen": _most("sender_steal_share", "receiver_steal_share"),
    "busiest_core": _most("sender_busiest_core_share", "receiver_busiest_core_share"),
    "lost_in_socket": lambda figures: percent(
        min(1.0, figures["receive_queue_drops"] / figures["lost_messages"])
    ),
    "excess": lambda figures: percent(
        figures["throughput_bit_per_s"] / figures["highest_ceiling_bit_per_s"] - 1, 1
    ),
    "one_of": lambda figures: _thousands(1 / max(figures["p_value"], 1e-9)),
    "waited": _starving("run_queue_share"),
    "stolen": _starving("steal_share"),
}
"""Name in a template → its value, computed from several figures."""
