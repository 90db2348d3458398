"""The record of a trial of any kind of test: its values, or why there are none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from netlab.errors import ProbeError
from netlab.experiment.records import REASONS, Record, Status, Value, reason_of, utc_now
from netlab.experiment.schedule import Trial
from netlab.measurement.ends import Ends
from netlab.remote.pending import DETAIL_CHARACTERS
from netlab.remote.protocol import BAD_ANSWER
from netlab.results.value_types import misfit
from netlab.terminal import excerpt

NOT_MEASURED = frozenset({"type", "id", "role", "protocol", "message_bytes", "streams"})
"""Keys of a probe's `result` that only repeat the request."""


def record_of_trial(
    trial: Trial, ends: Ends, attempt: int, measure: Callable[[], Mapping[str, Value]]
) -> Record:
    """Call ``measure`` for the values of a trial. If it raises a ``ProbeError``, the record has the
    status failed or impossible, with the reason.

    If a value does not have the type that its name requires, the record is a failure with the
    reason ``bad-answer`` and without the values. Raises ``HostGone`` if one of the hosts is lost:
    then nothing is known about the trial.
    """
    started_at = utc_now()
    status, reason, fault = Status.OK, None, None
    values: dict[str, Value] = {}
    try:
        trial_values = measure()
        wrong = misfit(trial_values)
        if wrong is not None:
            raise ProbeError(_names(ends), BAD_ANSWER, detail=excerpt(wrong, DETAIL_CHARACTERS))
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


def _names(ends: Ends) -> str:
    return f"{ends.server_name} and {ends.client.host.name}"


def prefixed(prefix: str, result: Mapping[str, Any]) -> dict[str, Value]:
    """All measured values of one end, each name with ``prefix``."""
    return {f"{prefix}{key}": value for key, value in result.items() if key not in NOT_MEASURED}


def of_connection(prefix: str, *results: Mapping[str, Any]) -> dict[str, Value]:
    """MSS and timestamps of a TCP connection, each from the first end whose system reports it."""
    values: dict[str, Value] = {}
    # Both ends agreed on the options, so the report of either system is enough.
    for result in results:
        if "tcp_end_snd_mss" in result:
            values.setdefault(prefix + "mss_bytes", result["tcp_end_snd_mss"])
        if "tcp_end_options" in result:
            options = str(result["tcp_end_options"]).split(",")
            values.setdefault(prefix + "tcp_timestamps", "timestamps" in options)
    return values
