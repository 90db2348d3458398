"""What the hosts of a plan say they can do, and which of its cells that leaves out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from netlab.errors import NetlabError, UsageError
from netlab.experiment.cells import Cell
from netlab.experiment.hosts import Host, Inventory
from netlab.experiment.requirements import Demand, EndName, lacking
from netlab.runner.daemon_executor import AT_ONCE, DaemonExecutor
from netlab.runner.host_values import HostValues, wrong_values
from netlab.runner.hosts.agent_group import AgentGroup
from netlab.terminal import printable


@dataclass(frozen=True, slots=True)
class HostAnswer:
    """What one host said, or why it could not be asked."""

    capabilities: frozenset[str] | None
    """Words of docs/protocol.md; ``None`` where nothing is known."""
    fault: str | None = None
    """A sentence."""
    values: HostValues = field(default_factory=HostValues)


AskHosts = Callable[[Sequence[Host]], Mapping[str, HostAnswer]]
"""Asks these hosts, and returns what each said, by its name."""


def asking(say: Callable[[str], None]) -> AskHosts:
    """Asks every host at the same time, over SSH or here; takes no lock.

    ``say`` hears what takes long, from several threads.
    """

    def ask(hosts: Sequence[Host]) -> Mapping[str, HostAnswer]:
        with AgentGroup(say) as agents, DaemonExecutor(AT_ONCE) as executor:
            failed = agents.log_in(hosts)
            told = executor.map(lambda host: _answer(agents, host, failed.get(host.name)), hosts)
            return {host.name: each for host, each in zip(hosts, told, strict=True)}

    return ask


def _answer(agents: AgentGroup, host: Host, failure: Exception | None) -> HostAnswer:
    """What a host says; whatever became of one, the others are asked."""
    if isinstance(failure, UsageError):
        raise failure
    if failure is not None:
        return HostAnswer(None, in_a_sentence(host, failure))
    if host.mirror is not None:
        return HostAnswer(None)
    try:
        hello = agents.hello(host)
        can = frozenset(str(hello.get("capabilities", "")).split(","))
        return HostAnswer(can, values=HostValues.of(agents.facts(host), hello))
    except NetlabError as error:
        return HostAnswer(None, in_a_sentence(host, error))


def in_a_sentence(host: Host, error: Exception) -> str:
    """What went wrong with a host, on one line; of a defect of netlab its kind as well."""
    if isinstance(error, NetlabError):
        return printable(str(error))
    return printable(f"{host.name}: {type(error).__name__}: {error}")


def beyond_hosts(
    cells: Collection[Cell], inventory: Inventory, told: Mapping[str, HostAnswer]
) -> tuple[dict[Cell, str], tuple[str, ...]]:
    """Cells that a host cannot run, each with a sentence; and notes about the others."""
    refused: dict[Cell, str] = {}
    notes = dict.fromkeys(
        f"not asked what it can do: {each.fault}" for each in told.values() if each.fault
    )
    for cell in cells:
        server, client = inventory.pair(cell.pairing)
        ends: Mapping[EndName, Host] = {"server": server, "client": client}
        can = {role: told[host.name].capabilities for role, host in ends.items()}
        lacks = lacking(cell, can)
        needed = [demand for demand in lacks if demand.needed]
        wrong = [*wrong_values(cell, ends, {name: each.values for name, each in told.items()})]
        if wrong:
            refused[cell] = "; ".join(dict.fromkeys(wrong))
        elif needed:
            refused[cell] = _cannot(ends, needed)
        else:
            notes |= dict.fromkeys(_without(ends[each.role], each) for each in lacks)
    return refused, tuple(notes)


def _cannot(ends: Mapping[EndName, Host], needed: Sequence[Demand]) -> str:
    by_what: dict[str, list[str]] = {}
    for demand in needed:
        by_what.setdefault(demand.what, []).append(ends[demand.role].name)
    return "; ".join(
        f"{' and '.join(dict.fromkeys(names))} cannot do it ({what})"
        for what, names in by_what.items()
    )


def _without(host: Host, demand: Demand) -> str:
    return f"{host.name} is measured without `{demand.what}`, which its system does not let it have"
