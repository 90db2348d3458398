"""Known changes between two runs other than their results: netlab, hosts, systems. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from netlab.results.labels import as_words

if TYPE_CHECKING:
    from netlab.results.run import Run

_FACTS = (
    *("kernel", "distribution", "cpu_model", "cpu_count", "virtual", "governor", "turbo"),
    *("power_plan", "congestion", "ecn", "rmem_max_bytes", "wmem_max_bytes", "tcp_rmem"),
    *("tcp_wmem", "tcp_timestamps", "default_qdisc", "interface_mtu_bytes", "interface_driver"),
    *("interface_speed_bit_per_s", "interface_duplex", "interface_qdisc", "interface_offloads"),
)
"""Facts of a host that change only if someone changes them, unlike counters and loads."""

_SHOWN = 12

Known = Mapping[tuple[str, str], str]
"""(host, name of a fact) → its text; the host is empty for facts of the run itself."""


def changes(baseline: Run, contender: Run) -> tuple[str, ...]:
    """One phrase per fact that differs between the runs, and one per run that has hosts of its own.

    Facts that only one run has are left out. Only the first ``_SHOWN`` phrases are
    returned; if there are more, a last phrase has their number.
    """
    old, new = _known(baseline), _known(contender)
    phrases = [
        *_of_hosts(_hosts(old), _hosts(new)),
        *(
            f"{' '.join(word for word in key if word)}: {old[key]}, then {new[key]}"
            for key in old
            if key in new and old[key] != new[key]
        ),
    ]
    more = len(phrases) - _SHOWN
    return (*phrases[:_SHOWN], *([f"and {more} more"] if more > 0 else []))


def _of_hosts(old: Iterable[str], new: Iterable[str]) -> Iterable[str]:
    for side, own, counterpart in (("baseline", old, new), ("contender", new, old)):
        only = [host for host in own if host not in counterpart]
        if only:
            yield f"hosts only in the {side}: {', '.join(only)}"


def _hosts(fact_values: Known) -> list[str]:
    return [*dict.fromkeys(host for host, _ in fact_values if host)]


def _known(run: Run) -> Known:
    """The latest value of each fact."""
    fact_values: dict[tuple[str, str], str] = {}
    for session in run.sessions:
        fact_values["", "netlab"] = as_words(session.get("netlab"))
    for note in run.facts:
        facts: Any = note.get("facts")
        if isinstance(facts, Mapping):
            host = str(note.get("host", ""))
            fact_values |= {(host, name): as_words(facts[name]) for name in _FACTS if name in facts}
    return fact_values
