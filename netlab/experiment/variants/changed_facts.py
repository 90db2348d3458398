"""Finds the facts of a host that the variants of a matrix change during a run.

A fact is what a host reports about itself, such as its MTU. A variant is a state of the hosts'
settings that netlab sets for some measurements. If a variant changes a fact, the fact has no value
that holds for the whole run. No I/O.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from netlab.experiment.variants.known import CONGESTION_DEFAULT

OF_SYSCTL = {
    CONGESTION_DEFAULT: "congestion",
    "net.ipv4.tcp_ecn": "ecn",
    "net.core.rmem_max": "rmem_max_bytes",
    "net.core.wmem_max": "wmem_max_bytes",
    "net.ipv4.tcp_rmem": "tcp_rmem",
    "net.ipv4.tcp_wmem": "tcp_wmem",
    "net.ipv4.tcp_no_metrics_save": "tcp_no_metrics_save",
    "net.ipv4.tcp_timestamps": "tcp_timestamps",
    "net.core.default_qdisc": "default_qdisc",
}
"""Name of a sysctl → the fact with its value."""

OF_KNOWN: Mapping[str, tuple[str, ...]] = {
    "offloads": ("interface_offloads",),
    "coalescing": ("interface_coalesce_rx_us",),
    "mtu": ("interface_mtu_bytes",),
    "governor": ("governor",),
    "interrupts": ("interface_irq_cpus",),
}
"""Known setting → the facts with its values."""

OF_ANY = (
    *OF_SYSCTL.values(),
    *(fact for facts in OF_KNOWN.values() for fact in facts),
    *("turbo", "idle_state_deepest", "idle_state_latency_us", "power_plan"),
    *("interface_qdisc", "interface_queue_length", "interface_ring_rx", "interface_ring_tx"),
    *("interface_pause_rx", "interface_pause_tx", "interface_eee", "interface_queues_rx"),
    *("interface_queues_tx", "interface_rps_cpus", "interface_speed_bit_per_s"),
    *("interface_duplex", "udp_fast_send_threshold_bytes", "udp_default_receive_window_bytes"),
    "tcp_1323_options",
)
"""Facts that a command in a matrix may change, if netlab does not know what the command changes."""


def changed_facts(content: Mapping[str, Any]) -> frozenset[str]:
    """Names of the facts that the variants in ``content`` change; empty without variants.

    ``content`` has the data of a matrix (``Matrix.content``).
    """
    return frozenset(fact for change in _changes(content) for fact in _of_change(change))


def _changes(content: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """All changes in ``content``. It may come from a file, so the types in it are checked."""
    for group in _values(content.get("variants")):
        for state in _values(group):
            if isinstance(state, dict):
                for end in ("server", "client"):
                    changes = state.get(end)
                    for change in changes if isinstance(changes, list) else ():
                        if isinstance(change, dict):
                            yield change


def _values(section: object) -> tuple[object, ...]:
    return tuple(section.values()) if isinstance(section, dict) else ()


def _of_change(change: Mapping[str, Any]) -> tuple[str, ...]:
    kind, wanted = change.get("known"), change.get("wanted")
    if kind == "sysctl" and isinstance(wanted, list):
        names = (pair[0] for pair in wanted if isinstance(pair, list) and pair)
        return tuple(
            OF_SYSCTL[name] for name in names if isinstance(name, str) and name in OF_SYSCTL
        )
    return OF_KNOWN[kind] if isinstance(kind, str) and kind in OF_KNOWN else OF_ANY
