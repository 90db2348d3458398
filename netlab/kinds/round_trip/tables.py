"""The report's tables of ``round_trip`` and ``connect`` tests: their columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from netlab.kinds.round_trip.settings import PERCENTILES
from netlab.messages import _
from netlab.stats import MIN_TRIALS, interval
from netlab.trial import figures
from netlab.trial.figures import FigureColumn, Shown, Trials, in_unit, known, number, numbers, share
from netlab.trial.record import Record


def _trials(trials: Trials) -> Shown:
    blanks = figures.blanks_of(trials)
    if blanks and len(blanks) < len(trials):
        blanks = [
            _("{some} of {total} trials {why}", some=blanks.count(why), total=len(trials), why=why)
            for why in dict.fromkeys(blanks)
        ]
    return figures.trials_shown(trials, blanks)


def _half_width(trials: Trials) -> Shown:
    means = numbers(trials, "rtt_mean_ns")
    if len(means) < MIN_TRIALS:
        return Shown(why=[figures.FEW_TRIALS] if means else ())
    return Shown(interval(means).half_width / 1e3)


def _percentile(share: Fraction) -> Callable[[Trials], Shown]:
    def shown(trials: Trials) -> Shown:
        histogram = figures.pooled(trials)
        if histogram is None:
            return Shown(why=_no_singles(trials))
        few = _(
            "the {share} percentile needs at least {least} round trips.",
            share=f"{float(100 * share):g} %",
            least=f"{int(1 / (1 - share)):,}",
        )
        value = histogram.percentile(share)
        return Shown(why=[few]) if value is None else Shown(value / 1e3)

    return shown


def _longest(trials: Trials) -> Shown:
    times = numbers(trials, "rtt_max_ns")
    return Shown(max(times) / 1e3) if times else Shown(why=_no_singles(trials))


def _no_singles(trials: Trials) -> list[str]:
    return (
        [_("single times are not recorded, only their sum.")] if figures.results_of(trials) else []
    )


def _requests(record: Record) -> float | None:
    """The requests that ended."""
    losses, transactions = record.number("lost_messages"), record.number("transactions")
    return None if losses is None or transactions is None else losses + transactions


TIMES: Sequence[FigureColumn[Trials]] = (
    FigureColumn(_("trials"), _trials),
    FigureColumn(_("transactions/s"), known("transactions_per_s"), "1/s"),
    FigureColumn(_("mean, µs"), known("rtt_mean_ns", 1e-3), "µs"),
    FigureColumn("± 95 %, µs", _half_width, "µs"),
    *(
        FigureColumn(in_unit("µs", f"{float(100 * share):g} %"), _percentile(share), "µs")
        for share in PERCENTILES.values()
    ),
    FigureColumn(_("longest, µs"), _longest, "µs"),
    FigureColumn(_("lost, %"), share(number("lost_messages"), _requests, _("not counted.")), "%"),
)

HANDSHAKE = FigureColumn(_("handshake, µs"), known("client_connect_mean_ns", 1e-3), "µs")
