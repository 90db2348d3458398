"""The engine ``netprobe``: measures every kind of test with netlab's own probe at both ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from netlab.experiment.records import Record, Value
from netlab.experiment.schedule import Trial
from netlab.measurement import payload_search, stream
from netlab.measurement.ends import Ends, OnGoodput
from netlab.measurement.record import record_of_trial
from netlab.measurement.rfc2544 import throughput_search
from netlab.measurement.round_trips import latency_under_load, round_trip

_VALUES_OF: Mapping[str, Callable[[Trial, Ends, OnGoodput], Mapping[str, Value]]] = {
    "stream": stream.values_of,
    "round_trip": round_trip.values_of,
    "connect": round_trip.values_of,
    "payload_search": payload_search.values_of,
    "throughput_search": throughput_search.values_of,
    "latency_under_load": latency_under_load.values_of,
}
"""Kind of test → the function that measures it; it raises ProbeError if there is no result."""


class Netprobe:
    """The engine that measures with netlab's own probe."""

    name = "netprobe"

    def measure(self, trial: Trial, ends: Ends, attempt: int, live: OnGoodput) -> Record:
        """Measure one trial; a ``ProbeError`` leads to a record of a failure."""
        values_of = _VALUES_OF[trial.cell.test]
        return record_of_trial(trial, ends, attempt, lambda: values_of(trial, ends, live))


NETPROBE = Netprobe()
