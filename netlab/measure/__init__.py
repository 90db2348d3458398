"""One room a kind of test: Trial → requests to two probes → Record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from netlab.cells import Cell
from netlab.hosts import Host
from netlab.probe import Agent


@dataclass(frozen=True, slots=True)
class Ends:
    """The two hosts of a pairing, with their agents."""

    server: Agent
    client: Agent
    same_host: bool
    """Whether both are one machine and one network namespace: the cable is not touched."""
    connected_by: Mapping[str, str] = field(default_factory=dict)
    """Protocol → ``client`` or ``server``, the side that connects; the client where not named."""


Live = Callable[[Cell, float], None]
"""Called about once a second with the goodput so far, in bit/s."""


def address_of(host: Host, cell: Cell) -> str:
    """The test address of ``host`` that ``cell`` uses."""
    return host.address(cell.setup.network, cell.setup.ip_version)
