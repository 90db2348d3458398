"""The capabilities of the hosts of a plan, and the cells that they cannot measure.

It is apart from the plan, which is made without the code that talks to hosts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from netlab.errors import NetlabError, UsageError
from netlab.experiment.cells import Cell, Demand, lacking
from netlab.experiment.hosts import EndName, Host, Inventory
from netlab.runner.ending import AT_ONCE, DaemonExecutor
from netlab.runner.places import AgentGroup
from netlab.runner.trial_faults import HostValues, wrong_values
from netlab.terminal import printable


@dataclass(frozen=True, slots=True)
class HostAnswer:
    """The capabilities and values of one host, or why it could not be asked."""

    capabilities: frozenset[str] | None
    """Words for capabilities from docs/protocol.md; ``None``: unknown."""
    fault: str | None = None
    """A sentence with the reason why the host could not be asked."""
    values: HostValues = field(default_factory=HostValues)


AskHosts = Callable[[Sequence[Host]], Mapping[str, HostAnswer]]
"""Asks hosts; returns host name → answer."""


def asking(notify: Callable[[str], None]) -> AskHosts:
    """A function that asks all hosts at the same time, without a lock.

    ``notify`` gets messages about slow steps; several threads call it.
    """

    def ask(hosts: Sequence[Host]) -> Mapping[str, HostAnswer]:
        with AgentGroup(notify) as agents, DaemonExecutor(AT_ONCE) as executor:
            failed = agents.log_in(hosts)
            answers = executor.map(lambda host: _answer(agents, host, failed.get(host.name)), hosts)
            return {host.name: answer for host, answer in zip(hosts, answers, strict=True)}

    return ask


def _answer(agents: AgentGroup, host: Host, failure: Exception | None) -> HostAnswer:
    """The answer of a host; a fault of one host does not stop the others."""
    if isinstance(failure, UsageError):
        raise failure
    if failure is not None:
        return HostAnswer(None, in_a_sentence(host, failure))
    if not host.has_agent:
        return HostAnswer(None)
    try:
        hello = agents.hello(host)
        capabilities = frozenset(str(hello.get("capabilities", "")).split(","))
        return HostAnswer(capabilities, values=HostValues.of(agents.facts(host), hello))
    except NetlabError as error:
        return HostAnswer(None, in_a_sentence(host, error))


def in_a_sentence(host: Host, error: Exception) -> str:
    """The error of a host on one line. An error that netlab does not expect is shown with the type
    of its exception.
    """
    if isinstance(error, NetlabError):
        return printable(str(error))
    return printable(f"{host.name}: {type(error).__name__}: {error}")


def beyond_hosts(
    cells: Collection[Cell], inventory: Inventory, answers: Mapping[str, HostAnswer]
) -> tuple[dict[Cell, str], tuple[str, ...]]:
    """Cells that a host cannot run, each with a sentence; and notes about the other cells."""
    refusals: dict[Cell, str] = {}
    notes = dict.fromkeys(
        f"capabilities unknown: {answer.fault}" for answer in answers.values() if answer.fault
    )
    values = {name: answer.values for name, answer in answers.items()}
    for cell in cells:
        server, client = inventory.pair(cell.pairing)
        ends: Mapping[EndName, Host] = {"server": server, "client": client}
        capabilities = {role: answers[host.name].capabilities for role, host in ends.items()}
        lacks = lacking(cell, capabilities)
        needed = [demand for demand in lacks if demand.needed]
        wrong = [*wrong_values(cell, ends, values)]
        if wrong:
            refusals[cell] = "; ".join(dict.fromkeys(wrong))
        elif needed:
            refusals[cell] = _not_supported(ends, needed)
        else:
            notes |= dict.fromkeys(_without(ends[demand.role], demand) for demand in lacks)
    return refusals, tuple(notes)


def _not_supported(ends: Mapping[EndName, Host], needed: Sequence[Demand]) -> str:
    by_what: dict[str, list[str]] = {}
    for demand in needed:
        by_what.setdefault(demand.what, []).append(ends[demand.role].name)
    return "; ".join(
        f"not supported by {' and '.join(dict.fromkeys(names))} ({setting_words})"
        for setting_words, names in by_what.items()
    )


def _without(host: Host, demand: Demand) -> str:
    return f"{host.name} is measured without `{demand.what}`: its system does not support it"
