"""Doubts about the figures of streams and about the hosts that took part.

The findings are about groups of cells, about hosts, or about the run. They are computed from stream
samples (the evidence about one direction of data in one trial) and from facts of hosts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from netlab.findings.ceilings import above_ceiling
from netlab.findings.finding import Finding, Group, Kind, finding
from netlab.findings.sample import StreamEnd, StreamSample
from netlab.findings.streams.host_limits import robbed, starved, throttled
from netlab.findings.streams.limits import limit_of
from netlab.findings.streams.majority import findings_of
from netlab.trial.record import Status

if TYPE_CHECKING:
    from netlab.results.run import Run

CLOCK_PPM = 100
"""Maximum difference between the rates of two clocks of one host, in ppm."""

SAVING = frozenset({"powersave", "ondemand", "conservative", "schedutil"})
"""Governors that change a CPU's frequency with its load."""

SAVING_PLANS = frozenset({"Power saver", "Balanced", "Energiesparmodus", "Ausbalanciert"})
"""Power plans of Windows; their names are in the language of the installation."""


def doubts(
    samples: Iterable[StreamSample],
    notes: Iterable[Mapping[str, Any]] = (),
    changed: Collection[str] = (),
) -> tuple[Finding, ...]:
    """All doubts; ``notes`` are the facts of hosts, as in ``results.run.Run.facts``.

    ``changed``: names of facts that netlab changes during the run (``variants`` of the matrix).
    Such changes raise no doubt.
    """
    streams = tuple(samples)
    return (
        *above_ceiling(streams),
        *(() if "interface_mtu_bytes" in changed else findings_of(streams, _smaller_mtu)),
        *(() if "congestion" in changed else _congestion(streams)),
        *_clock_steps(streams),
        *_of_hosts(streams, Kind.CLOCK_RATE, lambda sample, end: _is_off(end), _CLOCK),
        *_of_hosts(streams, Kind.OTHER_LOAD, _is_disturbed, _LOAD),
        *power_saving(notes),
    )


def _smaller_mtu(sample: StreamSample) -> Kind | None:
    return Kind.MTU_MISMATCH_STREAM if has_smaller_mtu(sample) else None


def has_smaller_mtu(sample: StreamSample) -> bool:
    """Whether the path MTU is smaller than the MTU of the link, as stated in the matrix."""
    path, link = sample.path_mtu_bytes, sample.link_mtu_bytes
    return not sample.same_host and path is not None and link is not None and path < link


def _congestion(samples: Iterable[StreamSample]) -> Iterator[Finding]:
    """Senders that use different congestion controls, none of them set by the matrix."""
    default_samples = [
        sample
        for sample in samples
        if sample.congestion is not None and not sample.congestion_asked and not sample.same_host
    ]
    controls: dict[str, set[str]] = {}
    for sample in default_samples:
        controls.setdefault(sample.sender.host, set()).add(str(sample.congestion))
    if len({control for of_host in controls.values() for control in of_host}) > 1:
        cells = tuple(dict.fromkeys(sample.cell for sample in default_samples))
        words = {host: ", ".join(sorted(names)) for host, names in sorted(controls.items())}
        yield finding(Kind.CONGESTION_DIFFERS, Group(protocol="TCP"), cells, words=words)


def _clock_steps(samples: Iterable[StreamSample]) -> Iterator[Finding]:
    """Hosts whose wall clock was set during a trial. One trial is enough for a finding: a step is
    recorded only above 0.5 s, and no jitter is that large.
    """
    steps: dict[str, dict[str, int]] = {}
    for sample in samples:
        for end in sample.ends:
            if end.clock_step_ns is not None:
                cells = steps.setdefault(end.host, {})
                cells[sample.cell] = max(cells.get(sample.cell, 0), end.clock_step_ns, key=abs)
    for host, cells in steps.items():
        largest_ns = max(cells.values(), key=abs)
        figures = {"clock_step_ns": float(largest_ns)}
        yield finding(Kind.CLOCK_STEP, Group(host=host), tuple(cells), figures)


def clock_steps_of_round_trips(run: Run) -> Iterator[Finding]:
    """As ``_clock_steps``, for round trips, whose records call the ends client and server."""
    steps: dict[str, dict[str, float]] = {}
    for record in run.latest.values():
        for end, host in (("client", record.client), ("server", record.server)):
            step_ns = record.number(f"{end}_wall_step_ns")
            if step_ns is not None and record.status is Status.OK:
                steps.setdefault(host or "", {})[record.cell] = step_ns
    for host, cells in steps.items():
        figures = {"clock_step_ns": max(cells.values(), key=abs)}
        yield finding(Kind.CLOCK_STEP, Group(host=host), tuple(cells), figures)


_CLOCK: Mapping[str, Callable[[StreamEnd], float | None]] = {"clock_ppm": lambda end: end.clock_ppm}
_LOAD: Mapping[str, Callable[[StreamEnd], float | None]] = {
    "run_queue_share": lambda end: end.run_queue_share,
    "steal_share": lambda end: end.steal_share,
}


def _is_off(end: StreamEnd) -> bool:
    return end.judged and end.clock_ppm is not None and abs(end.clock_ppm) > CLOCK_PPM


_TAKEN = frozenset(
    {Kind.CPU_WAIT_SENDER_PROGRAMS, Kind.CPU_WAIT_RECEIVER_PROGRAMS, Kind.CPU_WAIT_STEAL}
)


def _is_disturbed(sample: StreamSample, end: StreamEnd) -> bool:
    """Whether other machines or programs used the end's CPU, although the lack of CPU time is not
    the limit of the stream.

    Waits that the end's own quota caused do not count.
    """
    waited = starved(end) and not throttled(end)
    return (waited or robbed(end)) and limit_of(sample) not in _TAKEN


def _of_hosts(
    samples: Iterable[StreamSample],
    kind: Kind,
    rule: Callable[[StreamSample, StreamEnd], bool],
    figures: Mapping[str, Callable[[StreamEnd], float | None]],
) -> Iterator[Finding]:
    """One finding per host, over the cells in which the rule holds for this host in more than half
    of the trials.
    """
    hosts: dict[str, dict[str, list[tuple[StreamSample, StreamEnd]]]] = {}
    for sample in samples:
        for end in sample.ends:
            hosts.setdefault(end.host, {}).setdefault(sample.cell, []).append((sample, end))
    for host, cells in hosts.items():
        shown_cells = {
            cell: shown_ends
            for cell, trials in cells.items()
            if 2 * len(shown_ends := [end for sample, end in trials if rule(sample, end)])
            > len(trials)
        }
        if shown_cells:
            ends = [end for shown_ends in shown_cells.values() for end in shown_ends]
            worst = {name: _worst(map(figure, ends)) for name, figure in figures.items()}
            yield finding(kind, Group(host=host), tuple(shown_cells), worst)


def _worst(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), key=abs, default=None)


def power_saving(facts: Iterable[Mapping[str, Any]]) -> Iterator[Finding]:
    """Hosts whose CPUs or interfaces save power, by their facts before or after the run."""
    hosts: dict[str, dict[str, str]] = {}
    for note in facts:
        host_facts = note.get("facts")
        if isinstance(host_facts, Mapping):
            hosts.setdefault(str(note.get("host", "")), {}).update(_savings(host_facts))
    for host, words in hosts.items():
        if words:
            yield finding(Kind.POWER_SAVING, Group(host=host), words=words)


def _savings(facts: Mapping[str, Any]) -> dict[str, str]:
    """Name of a fact that shows power saving → its value."""
    savings = {}
    governors = SAVING & {*str(facts.get("governor")).split(",")}
    if governors:
        savings["governor"] = ", ".join(sorted(governors))
    plan = facts.get("power_plan")
    if plan in SAVING_PLANS:
        savings["power_plan"] = str(plan)
    if facts.get("interface_eee") == "active":
        savings["interface_eee"] = "active"
    return savings
