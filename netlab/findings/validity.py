"""What makes a stream's figure doubtful, or a host that took part in it. Pure.

Sendings, the facts of hosts → findings about groups of cells, hosts, and the run
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from netlab.experiment.records import Status
from netlab.findings.evidence import number
from netlab.findings.finding import Finding, Group, Kind, finding
from netlab.findings.sample import StreamEnd, StreamSample
from netlab.findings.streams.host_limits import robbed, starved, throttled
from netlab.findings.streams.limits import is_above, limit_of
from netlab.findings.streams.majority import findings_of

if TYPE_CHECKING:
    from netlab.results.run import Run

CLOCK_PPM = 100
"""By how much two clocks of one host may differ."""

SAVING = frozenset({"powersave", "ondemand", "conservative", "schedutil"})
"""Governors that change a CPU's frequency with its load."""

SAVING_PLANS = frozenset({"Power saver", "Balanced", "Energiesparmodus", "Ausbalanciert"})
"""Windows' own, which it calls by the language that it was installed in."""


def doubts(
    samples: Iterable[StreamSample], notes: Iterable[Mapping[str, Any]] = ()
) -> tuple[Finding, ...]:
    """All of them; ``notes`` are the facts of hosts, as ``results.run.Run.facts`` has them."""
    given = tuple(samples)
    return (
        *findings_of(given, lambda each: Kind.ABOVE_CEILING if is_above(each) else None),
        *findings_of(given, lambda each: Kind.PATH_MTU if has_smaller_mtu(each) else None),
        *_congestion(given),
        *_clock_steps(given),
        *_of_hosts(given, Kind.CLOCK_RATE, lambda each, end: _is_off(end), _CLOCK),
        *_of_hosts(given, Kind.OTHER_LOAD, _is_disturbed, _LOAD),
        *power_saving(notes),
    )


def has_smaller_mtu(sample: StreamSample) -> bool:
    """Whether the path carries smaller packets than the link that the matrix states."""
    path, link = sample.path_mtu_bytes, sample.link_mtu_bytes
    return not sample.same_host and path is not None and link is not None and path < link


def _congestion(samples: Iterable[StreamSample]) -> Iterator[Finding]:
    """Senders that use different congestion controls, none of which the matrix asked for."""
    chosen = [
        each
        for each in samples
        if each.congestion is not None and not each.congestion_asked and not each.same_host
    ]
    controls: dict[str, set[str]] = {}
    for each in chosen:
        controls.setdefault(each.sender.host, set()).add(str(each.congestion))
    if len({control for of_host in controls.values() for control in of_host}) > 1:
        cells = tuple(dict.fromkeys(each.cell for each in chosen))
        words = {host: ", ".join(sorted(found)) for host, found in sorted(controls.items())}
        yield finding(Kind.CONGESTION_DIFFERS, Group(protocol="TCP"), cells, words=words)


def _clock_steps(samples: Iterable[StreamSample]) -> Iterator[Finding]:
    """Hosts whose wall clock was set during a trial: once is enough, for no jitter is that long."""
    steps: dict[str, dict[str, int]] = {}
    for each in samples:
        for end in each.ends:
            if end.clock_step_ns is not None:
                cells = steps.setdefault(end.host, {})
                cells[each.cell] = max(cells.get(each.cell, 0), end.clock_step_ns, key=abs)
    for host, cells in steps.items():
        largest_ns = max(cells.values(), key=abs)
        figures = {"clock_step_ns": float(largest_ns)}
        yield finding(Kind.CLOCK_STEP, Group(host=host), tuple(cells), figures)


def clock_steps_of_round_trips(run: Run) -> Iterator[Finding]:
    """The same of round trips, whose records name their ends client and server."""
    steps: dict[str, dict[str, float]] = {}
    for record in run.latest.values():
        for end, host in (("client", record.client), ("server", record.server)):
            step_ns = number(record.values.get(f"{end}_wall_step_ns"))
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


_TAKEN = frozenset({Kind.SENDER_STARVED, Kind.RECEIVER_STARVED, Kind.STOLEN_CPU})


def _is_disturbed(sample: StreamSample, end: StreamEnd) -> bool:
    """Others had its CPU, though that is not what limited the stream, nor a quota of its own."""
    waited = starved(end) and not throttled(end)
    return (waited or robbed(end)) and limit_of(sample) not in _TAKEN


def _of_hosts(
    samples: Iterable[StreamSample],
    kind: Kind,
    shown: Callable[[StreamSample, StreamEnd], bool],
    figures: Mapping[str, Callable[[StreamEnd], float | None]],
) -> Iterator[Finding]:
    """A finding a host, over the cells of which more than half of the trials show it there."""
    hosts: dict[str, dict[str, list[tuple[StreamSample, StreamEnd]]]] = {}
    for each in samples:
        for end in each.ends:
            hosts.setdefault(end.host, {}).setdefault(each.cell, []).append((each, end))
    for host, cells in hosts.items():
        found = {
            cell: its
            for cell, trials in cells.items()
            if 2 * len(its := [end for each, end in trials if shown(each, end)]) > len(trials)
        }
        if found:
            ends = [end for its in found.values() for end in its]
            worst = {name: _worst(map(of, ends)) for name, of in figures.items()}
            yield finding(kind, Group(host=host), tuple(found), worst)


def _worst(values: Iterable[float | None]) -> float | None:
    return max((each for each in values if each is not None), key=abs, default=None)


def power_saving(facts: Iterable[Mapping[str, Any]]) -> Iterator[Finding]:
    """Hosts whose CPUs or interfaces save power, as they said before the run or after it."""
    hosts: dict[str, dict[str, str]] = {}
    for note in facts:
        said = note.get("facts")
        if isinstance(said, Mapping):
            hosts.setdefault(str(note.get("host", "")), {}).update(_savings(said))
    for host, words in hosts.items():
        if words:
            yield finding(Kind.POWER_SAVING, Group(host=host), words=words)


def _savings(facts: Mapping[str, Any]) -> dict[str, str]:
    """Name of a fact that saves power → its value."""
    found = {}
    governors = SAVING & {*str(facts.get("governor")).split(",")}
    if governors:
        found["governor"] = ", ".join(sorted(governors))
    plan = facts.get("power_plan")
    if plan in SAVING_PLANS:
        found["power_plan"] = str(plan)
    if facts.get("interface_eee") == "active":
        found["interface_eee"] = "active"
    return found
