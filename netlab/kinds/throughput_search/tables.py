"""The report's tables of a ``throughput_search``: their columns, and why a figure is missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from netlab.messages import _, joined, sentence_case
from netlab.stats import mean
from netlab.trial import figures
from netlab.trial.figures import FigureColumn, Shown, ShownOf, Trials, known, mean_of, numbers
from netlab.trial.host_counters import PLACES
from netlab.trial.record import Record

_LIMITS = {
    "line rate": _("line rate"),
    "device": _("device"),
    "generator-bound": _("generator-bound"),
    "receiver-bound": _("receiver-bound"),
    "failed": _("failed"),
}
"""Limit of a search, or of a search for bursts → its words."""


def limit_called(limit: str) -> str:
    """The words for a limit. A word of another version of netlab is returned unchanged."""
    return _LIMITS.get(limit, limit)


def limit_words(record: Record) -> str:
    """A search's limit and the busiest core at the rate found: ``device (router: CPU 1, 99 %)``."""
    words = limit_called(str(record.values.get("limit", "")))
    host, share = record.value("limit_host"), record.number("limit_core_share")
    core = record.number("limit_core")
    if host is None or share is None or core is None:
        return words
    return _(
        "{limit} ({host}: CPU {core}, {share})",
        limit=words,
        host=host,
        core=f"{core:.0f}",
        share=f"{100 * share:.0f} %",
    )


def _why_blank(record: Record) -> str:
    """The reason for a blank; if our own hosts were the limit, also the host and busiest core."""
    detail = record.detail or ""
    more = detail.partition("tester-bound: ")[2] if record.reason == "tester-bound" else ""
    # The detail is shown as it was recorded, in English.
    sentence = _("{detail}.", detail=sentence_case(more))
    return joined(" ", [record.why_blank, sentence]) if more else record.why_blank


def _only_results(of: Callable[[Trials], Shown | float | str | None]) -> ShownOf[Trials]:
    """Blank, with the reasons, if no trial has a result."""

    def shown(trials: Trials) -> Shown | float | str | None:
        results = figures.results_of(trials)
        return of(results) if results else Shown(why=[_why_blank(trial) for trial in trials])

    return shown


def _rate_found(results: Trials) -> Shown:
    """Over the searches in which a rate of the grid passed."""
    rated = [record for record in results if record.number("frames_per_s") is not None]
    notes = {
        _("In some of the trials not even the lowest rate of the grid passed."): (
            len(rated) < len(results)
        ),
        _(
            "Not monotonic: in some trial a higher rate passed or a lower one failed; the limit is "
            "not a sharp edge."
        ): any(record.value("monotone") is False for record in rated),
        _("Searched alone: there was no other pair of hosts."): any(
            record.number("pairs") == 1 for record in rated
        ),
    }
    return Shown(mean_of("frames_per_s", rated), [note for note, holds in notes.items() if holds])


def _line_share(results: Trials) -> Shown:
    rated = [record for record in results if record.number("frames_per_s") is not None]
    faster = _(
        "The sender was faster than the stated line rate: the link is not the stated one, and the "
        "share refers to the stated rate."
    )
    is_faster = any(record.value("link_paced") is False for record in results)
    return Shown(mean_of("line_share", rated, 100), [faster] if is_faster else ())


# A table: each row takes as few lines as possible.
# fmt: off
RATES: Sequence[FigureColumn[Trials]] = (
    FigureColumn(_("trials"), lambda trials: figures.trials_shown(
        trials, [_why_blank(trial) for trial in trials if trial.status != "ok"])),
    FigureColumn(_("frames/s"), _only_results(_rate_found), "1/s", figures.WHOLE),
    FigureColumn(_("of the line rate, %"), _only_results(_line_share), "%"),
    FigureColumn(_("line rate, frames/s"), _only_results(known("line_frames_per_s")), "1/s",
        figures.WHOLE),
    FigureColumn(_("did not pass, frames/s"), _only_results(known("upper_frames_per_s")), "1/s",
        figures.WHOLE),
    FigureColumn(_("limit"), _only_results(
        lambda found: joined("; ", dict.fromkeys(map(limit_words, found))))),
    FigureColumn(_("rates tried"), _only_results(
        lambda found: mean([float(len(r.series("trial_verdict"))) for r in found])), decimals=0),
)
# fmt: on

HostTrials = tuple[str, Trials]
"""A host's key in the names of values, and the trials of its search."""


def _host_share(name: str) -> Callable[[HostTrials], Shown]:
    def shown(row: HostTrials) -> Shown:
        key, results = row
        value = mean_of(f"{key}_{name}", results, 100)
        shared = any(record.value("one_machine") is True for record in results)
        return Shown(value, [_SHARED] if shared and value else ())

    return shown


def _core(row: HostTrials) -> str:
    key, results = row
    cores = sorted(set(numbers(results, f"{key}_busiest_core")))
    return joined(", ", [_("CPU {number}", number=f"{core:.0f}") for core in cores])


def _dropped(place: str) -> Callable[[HostTrials], float | None]:
    return lambda row: mean_of(f"{row[0]}_{place}_dropped_frames", row[1])


_SHARED = _(
    "Shared: some of the hosts have the same machine id. They are one machine, and the figure is "
    "that of all of them. Their backlogs cannot be separated."
)
_DROPPED = {
    "interface": _("dropped by its interfaces"),
    "queue": _("by the queues before them"),
    "softnet": _("by its backlog"),
    "socket": _("by the receiving socket"),
}
LOADS: Sequence[FigureColumn[HostTrials]] = (
    FigureColumn(_("CPU, %"), _host_share("busy_share"), "%"),
    FigureColumn(_("busiest core, %"), _host_share("busiest_core_share"), "%"),
    FigureColumn(_("core"), _core),
    *(FigureColumn(_DROPPED[place], _dropped(place), decimals=figures.WHOLE) for place in PLACES),
)


def _shares(trials: Trials, word: str) -> set[float]:
    return {share for record in trials for share in record.series(f"latency_{word}_share")}


def loads_of(trials: Trials) -> list[float]:
    """The loads at which round trips were to be measured, as shares of the rate found."""
    return sorted(_shares(trials, "found") | _shares(trials, "failed"))


def mean_at(records: Sequence[Record], name: str, share: float, factor: float = 1) -> float | None:
    """The mean of a figure at one load over the trials; ``None`` if no trial has the figure."""
    values = [
        value
        for record in records
        for at, value in zip(
            record.series("latency_found_share"), record.series(name), strict=False
        )
        if at == share
    ]
    return factor * mean(values) if values else None


LoadTrials = tuple[Trials, float]
"""Trials, and the load of the round trips as a share of the rate found."""


def _of_load(name: str, factor: float = 1) -> Callable[[LoadTrials], float | None]:
    return lambda row: mean_at(row[0], name, row[1], factor)


def _count(row: LoadTrials) -> Shown:
    """Number of round trips, with a note if some trial had none at this load."""
    trials, share = row
    why = _("In some trial no round trip completed at that load.")
    failed = share in _shares(trials, "failed")
    return Shown(mean_at(trials, "latency_count", share), [why] if failed else ())


LATENCIES: Sequence[FigureColumn[LoadTrials]] = (
    FigureColumn(_("round trips"), _count, decimals=figures.WHOLE),
    FigureColumn(_("shortest, µs"), _of_load("latency_min_ns", 1e-3), "µs"),
    FigureColumn(_("median, µs"), _of_load("latency_p50_ns", 1e-3), "µs"),
    FigureColumn(_("mean, µs"), _of_load("latency_mean_ns", 1e-3), "µs"),
    FigureColumn(_("99 %, µs"), _of_load("latency_p99_ns", 1e-3), "µs"),
    FigureColumn(_("longest, µs"), _of_load("latency_max_ns", 1e-3), "µs"),
    FigureColumn(_("requests lost"), _of_load("latency_lost_requests"), decimals=figures.WHOLE),
    FigureColumn(
        _("frames lost meanwhile"), _of_load("latency_lost_frames"), decimals=figures.WHOLE
    ),
)


def _burst_limits(trials: Trials) -> dict[str, None]:
    return dict.fromkeys(str(record.value("back_to_back_limit")) for record in trials)


def _frames(trials: Trials) -> Shown:
    sentences = [_ENDED[limit] for limit in _burst_limits(trials) if limit in _ENDED]
    return Shown(mean_of("back_to_back_frames", trials), sentences)


def _with_frames(trials: Trials) -> list[Record]:
    return [record for record in trials if record.number("back_to_back_frames") is not None]


def _time_ms(trials: Trials) -> float | None:
    frames = mean_of("back_to_back_frames", trials)
    rates = [rate for rate in numbers(_with_frames(trials), "line_frames_per_s") if rate]
    return 1e3 * frames / rates[0] if frames is not None and rates else None


_ENDED = {
    "line rate": _("The device forwards frames at line rate: a burst of any length passes."),
    "receiver-bound": _(
        "Our own hosts dropped frames of a burst: nothing is known about the device."
    ),
    "failed": _("In some trial no burst completed: nothing is known about the device."),
    "generator-bound": _("Our sender is slower than the line: it sends no bursts at line rate."),
}
# A table: each row takes as few lines as possible.
# fmt: off
BURSTS: Sequence[FigureColumn[Trials]] = (
    FigureColumn(_("searches"), lambda trials: float(
        sum(len(r.series("back_to_back_each_frames")) for r in trials)), decimals=0),
    FigureColumn(_("frames"), _frames, decimals=1),
    FigureColumn(_("waiting in the device"), lambda trials: mean_of(
        "back_to_back_waiting_frames", _with_frames(trials)), decimals=1),
    FigureColumn(_("at line rate, ms"), _time_ms, "ms"),
    FigureColumn(_("ended by"), lambda trials: joined(
        "; ", map(limit_called, _burst_limits(trials)))),
)
