"""The report's tables of ``latency_under_load``: their columns, and why a figure is missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from netlab.kinds.latency_under_load.phases import PHASES, RPM_INTERVAL_NS, RPM_INTERVALS
from netlab.messages import Message, _, joined
from netlab.trial import figures
from netlab.trial.figures import FigureColumn, Trials, Why, in_unit, mean_of_all, number, share
from netlab.trial.record import Record

PHASE_WORDS: Mapping[str, str] = {"idle": _("idle"), "loaded": _("loaded"), "after": _("after")}

_NO_REQUEST: Mapping[str, str] = {
    "idle": _("no request was due before the load."),
    "loaded": _("no request was due in the loaded phase."),
    "after": _("no request was due after the load: the queue on the path took too long to drain."),
}
_TOO_MANY_LOST: Mapping[str, str] = {
    "p50": _(
        "at least half of the requests were lost; a lost request counts as longer than any other."
    ),
    "p99": _(
        "more than 1 % of the requests were lost; a lost request counts as longer than any other."
    ),
}


def _why_no_time(phase: str, percentile: str) -> Why:
    def why(record: Record) -> str:
        if not record.number(f"{phase}_rtt_count"):
            return _NO_REQUEST[phase]
        losses = record.number(f"{phase}_lost_messages")
        return _TOO_MANY_LOST[percentile] if losses else record.why_blank

    return why


def _why_no_increase(record: Record) -> str:
    phase = "idle" if record.number("idle_rtt_p50_ns") is None else "loaded"
    return _why_no_time(phase, "p50")(record)


def _time(heading: str, phase: str, percentile: str) -> FigureColumn[Trials]:
    of = number(f"{phase}_rtt_{percentile}_ns", 1e-6)
    return FigureColumn(
        in_unit("ms", heading), mean_of_all(of, _why_no_time(phase, percentile)), "ms"
    )


_INCREASE = number("increase_ns", 1e-6)
# A table: each row takes as few lines as possible.
# fmt: off
TRIPS: Sequence[FigureColumn[Trials]] = (
    FigureColumn(_("trials"), figures.trials_shown),
    _time(_("idle"), "idle", "p50"),
    _time(_("loaded"), "loaded", "p50"),
    _time(_("loaded, 99 %"), "loaded", "p99"),
    _time(_("after"), "after", "p50"),
    FigureColumn(in_unit("ms", _("increase")), mean_of_all(_INCREASE, _why_no_increase), "ms"),
    FigureColumn(in_unit("ms", "± 95 %"), figures.half_width(_INCREASE, _why_no_increase), "ms"),
    FigureColumn(in_unit("%", _("lost under load")), share(number("loaded_lost_messages"),
        number("loaded_rtt_count"), _NO_REQUEST["loaded"]), "%"),
)
# fmt: on


def _of_all(name: str) -> figures.Figure:
    def of(record: Record) -> float | None:
        counts = [n for phase in PHASES if (n := record.number(f"{phase}_{name}")) is not None]
        return sum(counts) if counts else None

    return of


_NONE_REQUESTED = _("no connections were opened.")


def _why_no_rpm(record: Record) -> str | Message:
    if record.protocol != "TCP":
        return _("RPM needs a load over TCP.")
    duration_s, least_s = record.settings.get("duration_s"), RPM_INTERVALS * RPM_INTERVAL_NS / 1e9
    if isinstance(duration_s, int | float) and duration_s < least_s:
        return _("RPM needs a load of at least {least} s.", least=f"{least_s:g}")
    return _("the sender’s TCP reported no round trips, or too few connections were answered.")


def _connections_in(phase: str) -> Iterator[FigureColumn[Trials]]:
    def why(record: Record) -> str:
        if record.number(f"{phase}_connections"):
            return _("at least half of the connections were not answered within 5 s.")
        if record.settings.get("connect_rate_per_s") is None:
            return _NONE_REQUESTED
        return _("no connection was started in that phase.")

    for words, of in (
        (_("median"), mean_of_all(number(f"{phase}_connect_p50_ns", 1e-6), why)),
        (_("longest"), figures.longest(number(f"{phase}_connect_max_ns", 1e-6), why)),
    ):
        yield FigureColumn(joined(", ", [PHASE_WORDS[phase], words, "ms"]), of, "ms")


# A table: each row takes as few lines as possible.
# fmt: off
CONNECTIONS: Sequence[FigureColumn[Trials]] = (
    *(column for phase in PHASES for column in _connections_in(phase)),
    FigureColumn(_("lost, %"), share(
        _of_all("lost_connections"), _of_all("connections"), _NONE_REQUESTED), "%"),
)
PER_MINUTE: Mapping[str, FigureColumn[Trials]] = {
    "round_trips_per_minute_loaded": FigureColumn(
        _("round trips per minute, loaded"), mean_of_all(number("round_trips_per_minute_loaded"),
            lambda _record: _("more than 5 % of the requests under load were lost.")), "1/min"),
    "responsiveness_per_minute": FigureColumn(
        _("RPM"), mean_of_all(number("responsiveness_per_minute"), _why_no_rpm), "1/min"),
}
"""Name of a rate of round trips → its column."""
