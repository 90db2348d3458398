"""Trials of a search as values of its record: a list a figure, a place a trial. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from netlab.experiment.host_counters import PLACES, WAYS
from netlab.experiment.rate_search import VERDICTS
from netlab.experiment.records import Value
from netlab.measurement.ends import Ends
from netlab.measurement.host_watch import WHOSE, share_a_machine
from netlab.measurement.rfc2544.trial import TrialResult


def of_tries(prefix: str, line_per_s: float, tried: Sequence[TrialResult]) -> dict[str, Value]:
    """Every trial in its order; of both directions the sum of frames, the slower, the longer."""
    queues = [max(counts.queue_ns(line_per_s) for counts in each.accounts) for each in tried]
    values: dict[str, Value] = {
        "line_share": [float(each.share) for each in tried],
        "duration_s": [each.load.duration_s for each in tried],
        "sent_frames": [sum(a.sent for a in each.accounts) for each in tried],
        "received_frames": [sum(a.received for a in each.accounts) for each in tried],
        "own_drops": [sum(a.own_drops for a in each.accounts) for each in tried],
        "queue_ns": queues,
        "verdict": [VERDICTS.index(each.verdict) for each in tried],
    }
    return {prefix + name: value for name, value in values.items()}


def of_hosts(
    tried: Sequence[TrialResult], confirming: Sequence[TrialResult], ends: Ends
) -> dict[str, Value]:
    """How busy each host was, and what it dropped where: at the rate found and in every trial."""
    agents = [ends.client, ends.agent_of_server, *ends.observed]
    values: dict[str, Value] = {"one_machine": share_a_machine(agents)}
    for key in tried[0].hosts:
        if key not in WHOSE:
            values[f"{key}_host"] = tried[0].hosts[key].name
        found = next((cpu for each in confirming[::-1] if (cpu := each.hosts[key].cpu)), None)
        if found is not None:
            values[f"{key}_busy_share"] = found.busy_share
            values[f"{key}_busiest_core_share"] = found.busiest_core_share
            values[f"{key}_busiest_core"] = found.busiest_core
        known_cpus = [cpu for each in tried if (cpu := each.hosts[key].cpu)]
        if len(known_cpus) == len(tried):
            busy = [cpu.busiest_core_share for cpu in known_cpus]
            values[f"trial_{key}_busiest_core_share"] = busy
        # One disturbed trial can turn a search: the worst of them stands for it.
        stolen = [cpu.steal_share for cpu in known_cpus if cpu.steal_share is not None]
        if stolen:
            values[f"{key}_host_steal_share"] = max(stolen)
        hosts = [each.hosts[key] for each in tried]
        for place in PLACES:
            told = [host.dropped.get(place) for host in hosts]
            values |= _counted(f"{key}_{place}_dropped_frames", told)
        for way in WAYS:
            told = [host.pauses.get(way) for host in hosts]
            values |= _counted(f"{key}_pause_frames_{way}", told)
    return values


def _counted(name: str, by_trial: Sequence[int | None]) -> dict[str, Value]:
    """The sum, and each trial's where there was any; one that was not told would make the sum a
    part of one."""
    known = [frames for frames in by_trial if frames is not None]
    if not known or len(known) < len(by_trial):
        return {}
    return {name: sum(known), **({f"trial_{name}": known} if any(known) else {})}
