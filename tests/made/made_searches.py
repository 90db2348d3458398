"""Searches for the highest rate made up: a known truth, searched for as netlab searches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random
from typing import Any

from made_findings import plan_of, run_of
from made_readings import result

from netlab.ethernet import Link, frames_per_s
from netlab.findings.analysis import Analysis
from netlab.findings.search_limits import RateSample
from netlab.kinds.throughput_search.rate_search import (
    VERDICTS,
    NextRate,
    RateGrid,
    RateTry,
    Search,
    TryVerdict,
)
from netlab.store.plan import PlannedCell
from netlab.trial.record import Record, Status, Value

SIZES = (64, 128, 256, 512, 1024, 1280, 1518)
ACCOUNTED = {"wire": 20, "frames": 0, "frames-without-fcs": -4, "packets": -18}


@dataclass(frozen=True)
class Truth:
    """What limits frames on their way; frames or bits a second, ``None``: nothing does."""

    line_bit_per_s: float = 1e9
    device_frames: float | None = None
    device_bits: float | None = None
    account: str = "wire"
    generator_frames: float | None = None
    receiver_frames: float | None = None
    queues: bool = False
    """The device holds frames up and loses none."""
    core_share: float | None = None
    """Of the observed device's busiest core where it is the limit."""
    one_machine: bool = False
    scatter: float = 0.001
    step: float = 0.005

    def limits(self, frame_bytes: int) -> dict[str, float]:
        """Name of a limit → frames a second of that size."""
        bits = 8.0 * (frame_bytes + ACCOUNTED[self.account])
        limits = {
            "frames": self.device_frames,
            "bits": None if self.device_bits is None else self.device_bits / bits,
            "generator": self.generator_frames,
            "receiver": self.receiver_frames,
        }
        return {name: limit for name, limit in limits.items() if limit is not None}

    def limit_of(self, frame_bytes: int) -> str:
        """The name of the lowest, ``line`` where none is below the line rate by a step and more."""
        line = frames_per_s(self.line_bit_per_s, frame_bytes)
        limits = {**self.limits(frame_bytes), "line": line}
        return min(limits, key=lambda name: limits[name])


def seeded(seed: int) -> Random:
    """Chance that can be repeated."""
    return Random(seed)  # noqa: S311  (nothing secret)


def cell_of(frame_bytes: int, **settings: Value) -> PlannedCell:
    cell_settings: dict[str, Value] = {
        "protocol": "UDP",
        "frame_bytes": frame_bytes,
        "duration_s": 1.0,
    }
    cell_settings |= {"direction": "client-sends", "resolution": 0.005, **settings}
    words = "-".join(str(value) for value in cell_settings.values())
    return PlannedCell(f"LL-throughput_search-{words}", "LL", "throughput_search", cell_settings)


def searched(truth: Truth, cell: PlannedCell, trial: int, random: Random) -> Record:
    """The record of one search of that truth."""
    size = int(str(cell.settings["frame_bytes"]))
    line = frames_per_s(truth.line_bit_per_s, size)
    grid = RateGrid(Fraction(repr(truth.step)))
    search, tries = Search.over(grid), []
    while isinstance(step := search.next(), NextRate):
        tries.append(_tried(truth, size, grid.share(step.number), random))
        tried_share, verdict = tries[-1][:2]
        out = min(float(tried_share) * line, *truth.limits(size).values(), line) / line
        search = search.after(RateTry(step.number, step.full, verdict, out))
    record = Record(
        cell=cell.key,
        trial=trial,
        attempt=1,
        status=Status.OK,
        pairing="LL",
        server="beta",
        client="alpha",
        test="throughput_search",
        started_at="2026-01-31T12:00:00.000000Z",
        settings=cell.settings,
        values={},
    )
    if step.number is None and step.limit != "device":
        detail = f"alpha: tester-bound: {step.limit} at every rate tried, down to 0.5 %"
        return replace(record, status=Status.FAILED, reason="tester-bound", detail=detail)
    values: dict[str, Value] = {
        "limit": step.limit,
        "monotone": step.monotone,
        "line_rate_bit_per_s": truth.line_bit_per_s,
        "line_frames_per_s": line,
        "same_host": False,
        "one_machine": truth.one_machine,
        **_of_tries(tries),
    }
    if step.number is not None:
        share = float(grid.share(step.number))
        values |= {"frames_per_s": share * line, "line_share": share}
    if step.upper is not None:
        values["upper_frames_per_s"] = float(grid.share(step.upper)) * line
    hosts = {"generator-bound": "alpha", "receiver-bound": "beta"}
    if step.limit in hosts:
        values |= {"limit_host": hosts[step.limit], "limit_core_share": 0.99}
    if step.limit == "device" and truth.core_share is not None:
        values |= {"observed_1_host": "router", "limit_host": "router"}
        values["limit_core_share"] = truth.core_share
    return replace(record, values=values)


def run_of_searches(
    truth: Truth,
    random: Random,
    *,
    sizes: Sequence[int] = SIZES,
    trials: int = 1,
    of_trial: Mapping[int, Truth] | None = None,
) -> Analysis:
    """A run of searches over frame sizes; ``of_trial``: trial → a truth of its own."""
    cells = [cell_of(size) for size in sizes]
    truths = of_trial or {}
    records = [
        searched(truths.get(trial, truth), cell, trial, random)
        for trial in range(1, trials + 1)
        for cell in cells
    ]
    return run_of_records(cells, records, trials)


def run_of_records(
    cells: Sequence[PlannedCell], records: Iterable[Record], trials: int = 1
) -> Analysis:
    return run_of(plan_of(cells, Link(1e9, 1500), repeats=trials), records)


_Try = tuple[Fraction, TryVerdict, float, float, float, float]
"""Share, verdict, sent, received, queue_ns, dropped by our receiver."""


def _tried(truth: Truth, size: int, share: Fraction, random: Random) -> _Try:
    def scattered(limit: float | None) -> float:
        return float("inf") if limit is None else limit * random.gauss(1, truth.scatter)

    line = frames_per_s(truth.line_bit_per_s, size)
    offered_rate, limits = float(share) * line, truth.limits(size)
    sent_rate = min(offered_rate, scattered(limits.get("generator")))
    device = min(scattered(limits.get("frames")), scattered(limits.get("bits")))
    passed_rate = min(sent_rate, device)
    received_rate = min(passed_rate, scattered(limits.get("receiver")))
    step = truth.step * line
    if sent_rate > device and not truth.queues:
        return share, "lost", sent_rate, received_rate, 0.0, passed_rate - received_rate
    if received_rate < passed_rate:
        return share, "tester-loss", sent_rate, received_rate, 0.0, passed_rate - received_rate
    if sent_rate < offered_rate - max(0.001 * offered_rate, step / 2):
        return share, "generator-bound", sent_rate, received_rate, 0.0, 0.0
    queue_ns = 1e9 * (sent_rate / passed_rate - 1)
    if queue_ns > 1e9 * truth.step / 2:
        return share, "absorbed", sent_rate, sent_rate, queue_ns, 0.0
    return share, "passed", sent_rate, sent_rate, 0.0, 0.0


def _of_tries(tries: Sequence[_Try]) -> dict[str, Any]:
    columns: dict[str, Any] = {
        "trial_line_share": [float(rate_try[0]) for rate_try in tries],
        "trial_duration_s": [1.0] * len(tries),
        "trial_sent_frames": [round(rate_try[2]) for rate_try in tries],
        "trial_received_frames": [round(rate_try[3]) for rate_try in tries],
        "trial_own_drops": [round(rate_try[5]) for rate_try in tries],
        "trial_queue_ns": [round(rate_try[4]) for rate_try in tries],
        "trial_verdict": [VERDICTS.index(rate_try[1]) for rate_try in tries],
    }
    if any(rate_try[5] for rate_try in tries):
        columns["trial_server_socket_dropped_frames"] = [round(rate_try[5]) for rate_try in tries]
    return columns


def one_trial(
    size: int,
    per_s: float | None = None,
    line: float | None = None,
    upper: float | None = None,
) -> RateSample:
    """One search at a frame size that ended at the device: the highest rate that passed, that of
    the line, and the lowest that failed.
    """
    figures = {"frames_per_s": per_s, "upper_frames_per_s": upper, "line_frames_per_s": line}
    values = {name: value for name, value in figures.items() if value is not None}
    return RateSample(result(cell_of(size), 1, {"limit": "device", **values}))
