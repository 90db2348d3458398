"""Measures a trial with the engine that its cell names: netlab's own probe, or another tool.

The module of an engine is imported when the first cell needs it: most runs have few kinds of test,
and no other tool.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pkgutil import resolve_name

from netlab.errors import ProbeError
from netlab.experiment.cells import Cell
from netlab.experiment.schedule import Trial
from netlab.kinds import KINDS, RoundTrip, Stream
from netlab.measurement.ends import Ends, OnGoodput
from netlab.remote.answers import BAD_ANSWER, DETAIL_CHARACTERS
from netlab.results.value_types import misfit
from netlab.terminal import excerpt
from netlab.trial.record import REASONS, Record, Status, Value, reason_of, utc_now

ValuesOf = Callable[[Trial, Ends, OnGoodput], Mapping[str, Value]]
"""Measures one trial on its two hosts and returns the values of its record.

It calls the third argument with the totals so far while the trial runs. Raises ProbeError if there
is no result, and HostGone if one of the hosts is lost."""


def measure(trial: Trial, ends: Ends, attempt: int, live: OnGoodput) -> Record:
    """Measure one trial; its record is a result, or a failure with its reason.

    If a value does not have the type that its name requires, the record is a failure with the
    reason ``bad-answer`` and without the values. ``live`` is called with the totals so far while
    the trial runs. Raises ``HostGone`` if one of the hosts is lost: then nothing is known about the
    trial.
    """
    values_of = engine_of(trial.cell)
    started_at = utc_now()
    status, reason, fault = Status.OK, None, None
    values: dict[str, Value] = {}
    try:
        trial_values = values_of(trial, ends, live)
        wrong = misfit(trial_values)
        if wrong is not None:
            names = f"{ends.server_name} and {ends.client.host.name}"
            raise ProbeError(names, BAD_ANSWER, detail=excerpt(wrong, DETAIL_CHARACTERS))
        values |= trial_values
    except ProbeError as error:
        fault, reason = error, reason_of(error.word)
        status = Status.IMPOSSIBLE if REASONS[reason].impossible else Status.FAILED
        if error.word == "message-too-long" and error.path_mtu_bytes is not None:
            values["path_mtu_bytes"] = error.path_mtu_bytes
    values["same_host"] = ends.same_host
    return Record(
        cell=trial.cell.key,
        trial=trial.number,
        attempt=attempt,
        status=status,
        pairing=trial.cell.pairing,
        server=ends.server_name,
        client=ends.client.host.name,
        test=trial.cell.test,
        started_at=started_at,
        settings=dict(trial.cell.settings),
        values=values,
        reason=reason,
        errno=None if fault is None else fault.errno,
        detail=None if fault is None else str(fault),
    )


def engine_of(cell: Cell) -> ValuesOf:
    """The function that measures a cell: that of its kind of test, or that of the tool it names."""
    setup = cell.setup
    if not isinstance(setup, Stream | RoundTrip) or setup.engine is None:
        values_of: ValuesOf = resolve_name(f"{__package__}.{KINDS[cell.test].procedure}:values_of")
        return values_of
    return _of_tool(setup.engine)


@cache
def _of_tool(name: str) -> ValuesOf:
    from netlab.measurement.tool_engine import ToolEngine
    from netlab.measurement.tools import TOOLS

    return ToolEngine(TOOLS[name]).values_of
