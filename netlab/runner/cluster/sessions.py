"""Sessions of runs at a dask worker: their begin, their end, and the relays of their requesters.

Each function is called at the worker through dask. A worker keeps the agents of a run from one call
to the next (resident.py). A worker that was restarted knows no run, so it measures nothing until
the run has opened its hosts there again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

from netlab.errors import HostGone
from netlab.runner.cluster.channels import Delivery
from netlab.runner.cluster.resident import ResidentRun
from netlab.version import VERSION

_RUNS: dict[str, ResidentRun] = {}
"""Token of a run's session → its agents at this worker."""
_LOG = "distributed.worker"


class _QuietRelays(logging.Filter):
    """Keeps the calls of relays, several each second, out of the worker's log."""

    def filter(self, record: logging.LogRecord) -> bool:
        return "relay_" not in record.getMessage()


async def begin(run: str) -> str:
    """Begin the session of a run at this worker; returns the version of netlab here."""
    log = logging.getLogger(_LOG)
    if not any(isinstance(one, _QuietRelays) for one in log.filters):
        log.addFilter(_QuietRelays())
    if run not in _RUNS:
        _RUNS[run] = ResidentRun(asyncio.get_running_loop())
    return VERSION


async def end(run: str) -> None:
    """End the session of a run at this worker: its agents, programs and relays."""
    resident = _RUNS.pop(run, None)
    if resident is not None:
        await asyncio.to_thread(resident.end)


async def relay_write(run: str, requester: str, writes: Sequence[tuple[Any, ...]]) -> None:
    """Carry out writes of a requester, each ``(verb, channel, …)``. HostGone if the run is not
    known here.
    """
    resident = resident_of(run)
    resident.hear(requester)
    for verb, name, *words in writes:
        if verb == "open":
            resident.open_channel(requester, name, *words)
            continue
        channel = resident.channel(requester, name)
        if channel is None:
            continue
        if verb == "data":
            channel.feed(*words)
        elif verb == "close-input":
            channel.close_input()
        else:
            channel.kill()


async def relay_take(run: str, requester: str, wait_s: float) -> list[tuple[str, Delivery]]:
    """What the channels of a requester have delivered; waits up to ``wait_s`` for the first item.
    HostGone if the run is not known here.
    """
    resident = resident_of(run)
    resident.hear(requester)
    items = await resident.mailbox(requester).take(wait_s)
    resident.hear(requester)
    return items


def resident_of(run: str) -> ResidentRun:
    """The agents of a run's session at this worker; HostGone if it does not know the session."""
    resident = _RUNS.get(run)
    if resident is None or resident.ended:
        raise HostGone("it was restarted, or did not hear from the run")
    return resident
