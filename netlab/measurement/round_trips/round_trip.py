"""The tests ``round_trip`` and ``connect``: requests that a mirror on the server answers.

A mirror is a program that answers requests: netlab's probe, an echo service or another program.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netlab.experiment.kinds import ROWS, Connect, RoundTrip
from netlab.experiment.records import Value
from netlab.experiment.schedule import Trial
from netlab.measurement.conversation import ConversationEnd, OnProgress, drive
from netlab.measurement.ends import Ends, OnGoodput, of_connection, prefixed, so_far
from netlab.measurement.requests import heeds
from netlab.measurement.round_trips.exchange import Asking, Exchange, deadline_s, exchange_of

HEADLINE = (
    "transactions_per_s",
    "transactions",
    "lost_messages",
    "elapsed_ns",
    "rtt_count",
    "rtt_min_ns",
    "rtt_max_ns",
    "rtt_mean_ns",
    "rtt_sum_ns",
    "rtt_histogram",
    "rtt_histogram_bits",
    "first_rtt_ns",
)
"""The main values of the asking end; its other values get the prefix ``client_``."""


def values_of(trial: Trial, ends: Ends, live: OnGoodput) -> dict[str, Value]:
    """The values of a trial; ProbeError if it has no result."""
    setup = trial.cell.setup
    assert isinstance(setup, RoundTrip | Connect)  # noqa: S101  (for the type checker)

    def on_progress(exchange: Exchange) -> OnProgress:
        def report(side: ConversationEnd, record: Mapping[str, Any]) -> None:
            if side is exchange.asker:
                live(trial.cell, so_far(record))

        return report

    if isinstance(setup, RoundTrip) and setup.mirror is not None:
        # Imported here, because a run without such mirrors does not need this module.
        from netlab.measurement.round_trips.named_mirror import reflected

        reflection = reflected(setup, ends, on_progress)
        return _values(reflection.exchange, setup) | reflection.values
    exchange = exchange_of(setup, ends)
    drive([exchange], deadline_s(setup), on_progress(exchange))
    return _values(exchange, setup)


def _values(exchange: Exchange, setup: Asking) -> dict[str, Value]:
    """The values of ``HEADLINE``, then all others of both ends. An echo service has no values."""
    asker, mirror = exchange.asker, exchange.mirror
    of_asker = asker.result or {}
    of_mirror = mirror.result or {} if mirror is not None else {}
    values: dict[str, Value] = {name: of_asker[name] for name in HEADLINE if name in of_asker}
    values |= of_connection("", of_asker, of_mirror)
    values["connected_by"] = "client" if exchange.connector is asker else "server"
    if setup.congestion is not None and setup.protocol == "TCP":
        values["congestion_chosen"] = all(
            heeds(ROWS["congestion"], setup.protocol, side.agent) for side in exchange.sides
        )
    if isinstance(setup, RoundTrip) and setup.stack_time:
        values["stack_timed"] = mirror is not None and heeds(
            ROWS["stack_time"], setup.protocol, mirror.agent
        )
    if mirror is None and not (isinstance(setup, RoundTrip) and setup.mirror is not None):
        values["agentless"] = True
    values |= prefixed("client_", {k: v for k, v in of_asker.items() if k not in HEADLINE})
    return values | prefixed("server_", of_mirror)
