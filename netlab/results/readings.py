"""Readings: the data of each trial of a run that tables and charts need.

A trial is one measurement of a cell: a combination of test, pairing (server and client) and
settings.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from netlab.experiment.host_counters import HOSTS, OF_A_HOST
from netlab.experiment.load_phases import PHASES
from netlab.experiment.records import FLOWS, REASONS, Value, as_number
from netlab.messages import _
from netlab.results.columns import SERIES
from netlab.results.rows import columns_of_trials

if TYPE_CHECKING:
    from netlab.results.run import Run

__all__ = ["FLOWS", "STATUSES", "FlowReading", "Reading", "readings"]

STATUSES: Mapping[str, str] = {
    "ok": _("ok"),
    "failed": _("failed"),
    "impossible": _("impossible"),
    "pending": _("pending"),
}
"""Status of a trial → its text."""

_BUSY = ("host_busy_share", "host_busiest_core_share")

_VALUES = (
    *SERIES,
    *("elapsed_ns", "transactions", "transactions_per_s", "sent_messages", "lost_messages"),
    *("received_messages", "rtt_count", "rtt_mean_ns", "rtt_min_ns", "rtt_max_ns", "rtt_sum_ns"),
    *("rtt_histogram_bits", "client_latency_from", "stack_timed", "agentless"),
    *("server_stack_histogram_bits", "server_stack_mean_ns", "server_stack_stamps"),
    "client_connect_mean_ns",
    *("frames_per_s", "line_share", "line_frames_per_s", "upper_frames_per_s"),
    *("line_rate_bit_per_s", "limit", "monotone", "link_paced", "one_machine", "pairs"),
    *("limit_host", "limit_core", "limit_core_share"),
    *("back_to_back_frames", "back_to_back_waiting_frames", "back_to_back_limit"),
    *(f"{host}_{name}" for host in HOSTS for name in (*OF_A_HOST, "host")),
    *("sent_bit_per_s", "receiver_jitter_ns", "printed_mbit_per_s"),
    *("common_window", "common_window_trials", "common_window_open_ns"),
    *("clock_bound_ns", "clock_drift_ns"),
    *("payload_bytes", "path_mtu_bytes", "path_mtu_evidence", "interface_mtu_bytes"),
    *("captured", "capture_reason"),
    *("increase_ns", "round_trips_per_minute_loaded", "responsiveness_per_minute"),
    *("idle_open_ns", "load_open_ns", "settled_ns", "load_close_ns", "drained_ns"),
    "after_close_ns",
    *(
        f"{phase}_{name}"
        for phase in PHASES
        for name in (
            *("rtt_count", "lost_messages", "rtt_p50_ns", "rtt_p90_ns", "rtt_p99_ns"),
            *("rtt_max_ns", "connections", "lost_connections", "connect_p50_ns", "connect_max_ns"),
        )
    ),
    *(f"{flow}fairness_index" for flow in FLOWS),
    *("next_passed", "next_client_ip_fragments_created", "next_server_ip_reassembled"),
    *("to_client_payload_bytes", "to_client_path_mtu_bytes", "to_client_path_mtu_evidence"),
    *(f"{end}_{mode}_ns" for end in ("client", "server") for mode in ("user", "system")),
    *(
        f"{flow}{end}_{name}"
        for flow in FLOWS
        for end in ("sender", "receiver")
        for name in ("user_ns", "system_ns", "elapsed_ns", "queue_drops", "local_drops", *_BUSY)
    ),
)
"""Names of the values of a reading other than those of its flows (data in one direction)."""

_SERIES = frozenset(SERIES)

_TRIAL = ("cell", "trial", "attempt", "status", "reason", "errno", "detail", "started_at")
_PLACE = ("pairing", "server", "client", "test", "same_host")
_FLOW = (
    *("throughput_bit_per_s", "sent_messages", "lost_messages"),
    *("mss_bytes", "tcp_timestamps", "connected_by"),
)


@dataclass(frozen=True, slots=True)
class FlowReading:
    """The measured values of the data in one direction; ``None``: not known."""

    throughput_bit_per_s: float | None = None
    sent_messages: int | None = None
    lost_messages: int | None = None
    mss_bytes: int | None = None
    tcp_timestamps: bool | None = None
    connected_by: str | None = None
    """The side that connected: ``client`` or ``server``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One planned trial: its settings, and its result or why it has none."""

    cell: str
    trial: int
    attempt: int | None
    status: str
    reason: str | None
    errno: int | None
    detail: str | None
    pairing: str
    server: str | None
    client: str | None
    test: str
    same_host: bool
    settings: Mapping[str, Value]
    """All requested settings, including protocol and sizes; absent: the host's default."""
    flows: Mapping[str, FlowReading]
    """Flows by the names of ``FLOWS``: one, or two if the test sends both ways."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """Other measured values, by the names of ``netlab.results.columns``; absent: not known."""
    started_at: str | None = None
    """Start of the trial by the wall clock of the machine that runs netlab, ISO 8601, UTC."""

    def number(self, name: str) -> float | None:
        """A measured number, or ``None``."""
        return as_number(self.values.get(name))

    def series(self, name: str) -> tuple[float, ...]:
        """A measured list of numbers; empty if there is none."""
        value = self.values.get(name)
        return tuple(value) if isinstance(value, list) else ()

    @property
    def protocol(self) -> str:
        """``TCP`` or ``UDP``; empty if the test has none."""
        return str(self.settings.get("protocol", ""))

    @property
    def message_bytes(self) -> int | None:
        """Bytes of one message."""
        size = self.settings.get("message_bytes")
        return size if isinstance(size, int) else None

    @property
    def why_blank(self) -> str:
        """Why the trial has no figure: a sentence for a footnote, with reason and error number."""
        word = self.reason or ("no-figure" if self.status == "ok" else "no-reason-given")
        entry = REASONS.get(word)
        code = word
        if self.errno is not None:
            code = _("{word}, error number {number}", word=word, number=self.errno)
        status = STATUSES.get(self.status, self.status)
        if entry is None:
            return _("{status} ({code}).", status=status, code=code)
        if word in ("not-recorded", "not-measured-yet"):
            return _("{reason} ({code}).", reason=entry.words, code=code)
        return _("{status}: {reason} ({code}).", status=status, reason=entry.words, code=code)


def readings(run: Run) -> tuple[Reading, ...]:
    """One reading per planned trial, in the plan's order."""
    settings = list(dict.fromkeys(name for cell in run.plan.cells for name in cell.settings))
    flow_columns = [flow + name for flow in FLOWS for name in _FLOW]
    names = dict.fromkeys([*_TRIAL, *_PLACE, *settings, *flow_columns, *_VALUES])
    columns = columns_of_trials(run.stored, names)
    further = [name for name in _VALUES if name in columns]
    present = (
        {name: value for name, value in zip(columns, row, strict=True) if value is not None}
        for row in zip(*columns.values(), strict=True)
    )
    return tuple(_reading(values, settings, further) for values in present)


def _reading(present: Mapping[str, Any], names: list[str], further: list[str]) -> Reading:
    settings = {name: present[name] for name in names if name in present}
    is_two_way = settings.get("direction") == "both"
    return Reading(
        cell=present["cell"],
        trial=present["trial"],
        attempt=present.get("attempt"),
        status=present["status"],
        reason=present.get("reason"),
        errno=present.get("errno"),
        detail=present.get("detail"),
        pairing=present["pairing"],
        server=present.get("server"),
        client=present.get("client"),
        test=present["test"],
        same_host=present.get("same_host") is True,
        settings=settings,
        flows={flow: _flow(present, flow) for flow in FLOWS if bool(flow) == is_two_way},
        values=_values(present, further) if present["status"] == "ok" else {},
        started_at=present.get("started_at"),
    )


def _values(present: Mapping[str, Any], further: list[str]) -> dict[str, Any]:
    """The measured values other than the flows; series as lists."""
    return {
        name: _list(present[name]) if name in _SERIES else present[name]
        for name in further
        if name in present
    }


def _list(text: object) -> list[float]:
    """A series from its JSON text; empty if it is no list (a damaged record)."""
    try:
        value = json.loads(str(text))
    except ValueError:
        return []
    return value if isinstance(value, list) else []


def _flow(present: Mapping[str, Any], prefix: str) -> FlowReading:
    return FlowReading(**{name: present.get(prefix + name) for name in _FLOW})
