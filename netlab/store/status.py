"""Status: the progress of a run, read from its folder, even while another process writes to it.

A cell is one combination of two hosts, test and settings. A trial is one repetition of a cell, and
a record holds the result of one trial.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netlab.experiment.matrix import StealRule, StopRule, outline
from netlab.store.journal import Damage
from netlab.store.reader import Note, RunCheck, gather, holder_of, progress_in, read_plan
from netlab.trial.record import Record, Status
from netlab.units import format_share, many

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Active:
    """A trial that was begun and has no record yet."""

    cell: str
    trial: int
    started_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStatus:
    """The progress of a run. Counts are trials; ``total`` = ``done`` + ``remaining``."""

    folder: Path
    title: str
    total: int
    ok: int
    impossible: int
    failed: int
    pending: int
    """Number of pending trials, including those that are not measured yet."""
    undecided: int
    """Number of cells whose means are not precise yet. They may need more trials than ``total``
    counts."""
    not_tight: tuple[str, ...]
    """Keys of the cells that had all their trials and still are not precise enough."""
    until: StopRule | None
    """The rule that ends a cell's trials when its mean is precise; ``None`` without such a rule."""
    quiet: StealRule | None
    """The rule by which the last session repeated disturbed trials (a hypervisor stole CPU time
    from a host); ``None`` if the session had no such rule."""
    disturbed: int
    """Number of trials whose valid record was disturbed."""
    disturbed_again: int
    """Number of disturbed trials that a resumed run repeats."""
    writer: str | None
    """A description of the process that writes to the folder; ``None`` if there is none."""
    active: tuple[Active, ...]
    """The trials being measured; empty without a writer."""
    last: Record | None
    damage: tuple[Damage, ...]

    @property
    def done(self) -> int:
        """Trials that a resumed run does not repeat."""
        return self.ok + self.impossible

    @property
    def remaining(self) -> int:
        """Trials that a resumed run measures: failed, pending, not measured yet."""
        return self.total - self.done

    def as_dict(self) -> dict[str, Any]:
        """The status as plain data."""
        last = self.last and {
            "cell": self.last.cell,
            "trial": self.last.trial,
            "attempt": self.last.attempt,
            "status": str(self.last.status),
            "reason": self.last.reason,
            "started_at": self.last.started_at,
        }
        return {
            "folder": str(self.folder),
            "title": self.title,
            "total": self.total,
            "done": self.done,
            "remaining": self.remaining,
            "ok": self.ok,
            "impossible": self.impossible,
            "failed": self.failed,
            "pending": self.pending,
            "undecided": self.undecided,
            "not_tight": list(self.not_tight),
            "disturbed": self.disturbed,
            "disturbed_again": self.disturbed_again,
            "running": self.writer is not None,
            "writer": self.writer,
            "active": [
                {"cell": active.cell, "trial": active.trial, "started_at": active.started_at}
                for active in self.active
            ],
            "last": last,
            "damage": [{"line": place.line, "message": place.message} for place in self.damage],
        }

    def as_json(self) -> str:
        """``as_dict`` as one JSON document."""
        return json.dumps(self.as_dict(), indent=1)

    def as_text(self) -> str:
        """A few lines for people."""
        lines = [
            f"{self.folder}: {self.title}",
            f"{self.done} of {many(self.total, 'trial')} done: {self.ok} ok, {self.impossible} "
            f"impossible; {self.remaining} left: {self.failed} failed, {self.pending} pending",
            f"running: {self.writer}" if self.writer else "not running",
        ]
        lines += [
            f"measuring {active.cell}, trial {active.trial}, since {active.started_at}"
            for active in self.active
        ]
        if self.undecided and self.until is not None:
            cells = "1 cell is" if self.undecided == 1 else f"{self.undecided} cells are"
            lines.append(
                f"{cells} measured until within ± {format_share(self.until.within)}, "
                f"up to {self.until.at_most} trials each"
            )
        if self.not_tight and self.until is not None:
            lines += _scattered(self.not_tight, self.until)
        if self.disturbed and self.quiet is not None:
            again = f"{self.disturbed_again} to be repeated"
            lines.append(f"{self.quiet.disturbed(self.disturbed)}: {again}")
        if self.last is not None:
            reason = f" ({self.last.reason})" if self.last.reason else ""
            lines.append(f"last record: {self.last.cell}: {self.last.status}{reason}")
        lines += [f"journal, {place}" for place in self.damage[:_SHOWN]]
        if len(self.damage) > _SHOWN:
            lines.append(f"and {many(len(self.damage) - _SHOWN, 'more damaged place')}")
        return "\n".join(lines)


def _scattered(keys: tuple[str, ...], until: StopRule) -> Iterator[str]:
    cells = "1 cell was" if len(keys) == 1 else f"{len(keys)} cells were"
    yield (
        f"{cells} not within ± {format_share(until.within)} after {until.at_most} trials: look for "
        "the cause of the scatter, more trials do not remove it"
    )
    yield from (f"  {key}" for key in keys[:_SHOWN])
    if len(keys) > _SHOWN:
        yield f"  and {len(keys) - _SHOWN} more"


def status_of(path: Path, check: RunCheck | None = None) -> RunStatus:
    """The status of the run in ``path``; ``check`` and errors as ``read``."""
    writer = holder_of(path)
    plan, _ = read_plan(path, check)
    gathered = gather(path, plan, check, outline)
    courses = {cell.key: progress_in(plan, cell, gathered.latest) for cell in plan.cells}
    counts = gathered.counts({key: course.trials for key, course in courses.items()})
    quiet = _quiet_of(gathered.notes)
    suspects = () if quiet is None else gathered.doubtful(quiet.steal)
    records = (gathered.latest[trial] for trial in suspects)
    disturbed = [record for record in records if quiet is not None and quiet.is_disturbed(record)]
    # A line that a writer has not finished is not damaged.
    damage = tuple(place for place in gathered.damage if not (place.torn and writer))
    return RunStatus(
        folder=path,
        title=plan.title,
        total=counts.total(),
        ok=counts[Status.OK],
        impossible=counts[Status.IMPOSSIBLE],
        failed=counts[Status.FAILED],
        pending=counts[Status.PENDING],
        undecided=sum(not progress.ended for progress in courses.values()),
        not_tight=tuple(key for key, progress in courses.items() if progress.precise is False),
        until=plan.until,
        quiet=quiet,
        disturbed=len(disturbed),
        disturbed_again=sum(quiet is not None and quiet.asks_again(r) for r in disturbed),
        writer=writer,
        active=tuple(
            Active(cell, trial, at) for (cell, trial), at in gathered.unfinished.items() if writer
        ),
        last=gathered.last,
        damage=damage,
    )


def _quiet_of(notes: Sequence[Note]) -> StealRule | None:
    """The last session's rule for disturbed trials; ``None`` if it has no readable rule."""
    rules = [note.data.get("quiet") for note in notes if note.kind == "session"]
    match rules[-1] if rules else None:
        case {"steal": float(steal), "tries": int(tries)}:
            return StealRule(steal=steal, tries=tries)
    return None
