"""Trials of a search as values of its record: a list per figure, an entry per trial. No I/O."""

from __future__ import annotations

from collections.abc import Sequence

from netlab.experiment.host_counters import PLACES, WAYS
from netlab.experiment.rate_search import VERDICTS
from netlab.experiment.records import Value
from netlab.measurement.ends import Ends
from netlab.measurement.host_watch import WHOSE, share_a_machine
from netlab.measurement.rfc2544.trial import TrialResult


def of_tries(prefix: str, line_per_s: float, trials: Sequence[TrialResult]) -> dict[str, Value]:
    """Lists with an entry for each trial, in the order of the trials. Counts of frames are sums
    over both directions. ``queue_ns`` is the queue of the direction that has the longer queue.
    """
    queues = [max(counts.queue_ns(line_per_s) for counts in trial.accounts) for trial in trials]
    values: dict[str, Value] = {
        "line_share": [float(trial.share) for trial in trials],
        "duration_s": [trial.load.duration_s for trial in trials],
        "sent_frames": [sum(a.sent for a in trial.accounts) for trial in trials],
        "received_frames": [sum(a.received for a in trial.accounts) for trial in trials],
        "own_drops": [sum(a.own_drops for a in trial.accounts) for trial in trials],
        "queue_ns": queues,
        "verdict": [VERDICTS.index(trial.verdict) for trial in trials],
    }
    return {prefix + name: value for name, value in values.items()}


def of_hosts(
    trials: Sequence[TrialResult], confirming: Sequence[TrialResult], ends: Ends
) -> dict[str, Value]:
    """For each host: its CPU load, its dropped frames, and the pause frames of its interfaces.

    The CPU load is that of the last of the ``confirming`` trials (the trials that passed at the
    rate that the search found). The load of the busiest core is also listed for every trial.
    """
    agents = [ends.client, ends.agent_of_server, *ends.observed]
    values: dict[str, Value] = {"one_machine": share_a_machine(agents)}
    for key in trials[0].hosts:
        if key not in WHOSE:
            values[f"{key}_host"] = trials[0].hosts[key].name
        last_cpu = next((cpu for trial in confirming[::-1] if (cpu := trial.hosts[key].cpu)), None)
        if last_cpu is not None:
            values[f"{key}_busy_share"] = last_cpu.busy_share
            values[f"{key}_busiest_core_share"] = last_cpu.busiest_core_share
            values[f"{key}_busiest_core"] = last_cpu.busiest_core
        known_cpus = [cpu for trial in trials if (cpu := trial.hosts[key].cpu)]
        if len(known_cpus) == len(trials):
            busy = [cpu.busiest_core_share for cpu in known_cpus]
            values[f"trial_{key}_busiest_core_share"] = busy
        # One disturbed trial can change the result of a search, so the worst value is kept.
        stolen = [cpu.steal_share for cpu in known_cpus if cpu.steal_share is not None]
        if stolen:
            values[f"{key}_host_steal_share"] = max(stolen)
        hosts = [trial.hosts[key] for trial in trials]
        for place in PLACES:
            drops = [host.dropped.get(place) for host in hosts]
            values |= _counts(f"{key}_{place}_dropped_frames", drops)
        for way in WAYS:
            pauses = [host.pauses.get(way) for host in hosts]
            values |= _counts(f"{key}_pause_frames_{way}", pauses)
    return values


def _counts(name: str, by_trial: Sequence[int | None]) -> dict[str, Value]:
    """The sum of the counts, and the list of all counts if the sum is not 0. Nothing if a trial has
    no count, because the sum would be incomplete.
    """
    frame_counts = [frames for frames in by_trial if frames is not None]
    if not frame_counts or len(frame_counts) < len(by_trial):
        return {}
    return {
        name: sum(frame_counts),
        **({f"trial_{name}": frame_counts} if any(frame_counts) else {}),
    }
