"""Variants: named states of the hosts' own settings, as an axis of a matrix.

A value of the axis is a text such as ``ecn=on offload=off``: one state of each group that the text
names, sorted by group. A fact that a variant changes has no value that holds for the whole run.
Sources: sysctl(8), ethtool(8), ip-link(8); Documentation/admin-guide/pm/cpufreq.rst and
Documentation/core-api/irq/irq-affinity.rst of Linux.
"""

from __future__ import annotations

import itertools
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from netlab.experiment.hosts import EndName

Words = tuple[str, ...]
"""A command as a list of words, which is run without a shell."""

PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
PLACEHOLDERS = frozenset({"interface", "address", "peer_address"})
"""What a command may contain in braces: the interface of the route to the other host, and the test
addresses of this host and the other host."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a host's settings."""

    enter: Words
    check: Words
    restore: tuple[Words, ...] = ()
    """The commands that undo the change; empty: the values that ``check`` found are set again."""
    expect: str = ""
    """A regular expression that must match in the output of ``check``; empty: no condition."""
    known: str = ""
    """The key of the changed setting in ``KNOWN``; empty if ``KNOWN`` lacks it."""
    wanted: tuple[tuple[str, str], ...] = ()
    """Names and values that the change sets, if the setting is in ``KNOWN``."""
    prefix: Words = ()
    """The words before the commands that change something, such as ``sudo -n``."""

    @property
    def uses(self) -> frozenset[str]:
        """The placeholders in its commands."""
        words = (*self.enter, *self.check, *(word for words in self.restore for word in words))
        return frozenset(name for word in words for name in PLACEHOLDER.findall(word))

    def filled(self, values: Mapping[str, str]) -> Change:
        """The change with its placeholders replaced by ``values``."""
        return replace(
            self,
            enter=fill(self.enter, values),
            check=fill(self.check, values),
            restore=tuple(fill(words, values) for words in self.restore),
        )


def fill(words: Words, values: Mapping[str, str]) -> Words:
    """The words with each placeholder replaced; a placeholder without a value stays."""
    return tuple(
        PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), word) for word in words
    )


Values = Mapping[str, str]
"""Name of a setting → its value."""

WORDS_MOST = 50
"""Maximum number of CPUs or interrupts in one command: an agent takes 64 words."""

CPUS = "/sys/devices/system/cpu"

FOUND = "FOUND"
"""Stands for a value that is not known before the host is asked."""


class KnownSetting(ABC):
    """A kind of setting: its commands, without a prefix such as ``sudo``."""

    @abstractmethod
    def enter(self, wanted: Values) -> Words:
        """The command that sets the values, in their order."""

    @abstractmethod
    def check(self, wanted: Values) -> Words:
        """The command that prints the values."""

    @abstractmethod
    def read(self, text: str) -> dict[str, str]:
        """The values in what ``check`` printed."""

    def is_reached(self, wanted: Values, found: Values) -> bool:
        """Whether the values found are those wanted, apart from spaces in them."""
        return all(found.get(name) == _plain(value) for name, value in wanted.items())

    def restore(self, wanted: Values, found: Values) -> tuple[Words, ...]:
        """The commands that set back the values found; ValueError with a message for the user if
        this cannot be done.
        """
        missing = [name for name in wanted if name not in found]
        if missing:
            raise ValueError(f"the host has no {missing[0]}")
        return (self.enter({name: found[name] for name in wanted}),)

    def recognized(self, words: Words) -> Values | None:
        """The values that a command in a matrix sets; ``None`` if it sets something else."""
        return None

    def foreseen(self, wanted: Values) -> tuple[Words, ...]:
        """As ``restore``, with ``FOUND`` in place of each value."""
        return (self.enter(dict.fromkeys(wanted, FOUND)),)


def _plain(value: str) -> str:
    return " ".join(value.split())


class _Sysctl(KnownSetting):
    def enter(self, wanted: Values) -> Words:
        return ("sysctl", "-w", *(f"{name}={value}" for name, value in wanted.items()))

    def check(self, wanted: Values) -> Words:
        return ("sysctl", *wanted)

    def read(self, text: str) -> dict[str, str]:
        """The values in lines such as ``net.ipv4.tcp_rmem = 4096  131072  6291456``."""
        pairs = (line.partition("=") for line in text.splitlines() if "=" in line)
        return {name.strip(): _plain(value) for name, _, value in pairs}

    def recognized(self, words: Words) -> Values | None:
        """The values in ``sysctl -w NAME=VALUE …``."""
        match words:
            case ("sysctl", "-w", *pairs) if pairs and all("=" in pair for pair in pairs):
                parts = [pair.partition("=") for pair in pairs]
                return {name.replace("/", "."): value for name, _, value in parts}
        return None


_LONG_NAMES = {
    "rx": "rx-checksumming",
    "tx": "tx-checksumming",
    "sg": "scatter-gather",
    "tso": "tcp-segmentation-offload",
    "ufo": "udp-fragmentation-offload",
    "gso": "generic-segmentation-offload",
    "gro": "generic-receive-offload",
    "lro": "large-receive-offload",
    "rxvlan": "rx-vlan-offload",
    "txvlan": "tx-vlan-offload",
    "ntuple": "ntuple-filters",
    "rxhash": "receive-hashing",
}
"""Short names of ``ethtool -K`` → names that ``ethtool -k`` prints."""
_SHORT_NAMES = {long: short for short, long in _LONG_NAMES.items()}


class _Ethtool(KnownSetting):
    """Settings of an interface that ethtool sets in pairs of name and value."""

    def __init__(self, change: str, show: str) -> None:
        self._change, self._show = change, show

    def enter(self, wanted: Values) -> Words:
        return ("ethtool", self._change, "{interface}", *itertools.chain(*wanted.items()))

    def check(self, wanted: Values) -> Words:
        return ("ethtool", self._show, "{interface}")

    def read(self, text: str) -> dict[str, str]:
        """The values in lines such as ``rx-usecs: 3`` or ``Adaptive RX: off  TX: on``."""
        values: dict[str, str] = {}
        for line in text.splitlines():
            adaptive = re.match(r"Adaptive RX:\s*(\S+)\s+TX:\s*(\S+)", line)
            if adaptive:
                values |= {"adaptive-rx": adaptive[1], "adaptive-tx": adaptive[2]}
            elif pair := re.match(r"\s*([a-z0-9-]+):\s*(\S+)", line):
                values[_SHORT_NAMES.get(pair[1], pair[1])] = pair[2]
        return values

    def is_reached(self, wanted: Values, found: Values) -> bool:
        """Whether all values are equal; ethtool's short and long names mean the same."""
        return super().is_reached(_by_short_names(wanted), found)

    def restore(self, wanted: Values, found: Values) -> tuple[Words, ...]:
        """One command that sets all values; ValueError if the interface lacks one of them."""
        short = _by_short_names(wanted)
        lacking = [name for name in short if found.get(name) == "n/a"]
        commands = super().restore(short, found)
        if lacking:
            raise ValueError(f"the interface has no {lacking[0]}")
        return commands

    def recognized(self, words: Words) -> Values | None:
        """The values in ``ethtool -K {interface} NAME VALUE …`` (or ``-C``)."""
        match words:
            case ("ethtool", option, "{interface}", *pairs):
                if option == self._change and pairs and len(pairs) % 2 == 0:
                    return dict(zip(pairs[::2], pairs[1::2], strict=True))
        return None


def _by_short_names(wanted: Values) -> Values:
    return {_SHORT_NAMES.get(name, name): value for name, value in wanted.items()}


class _Mtu(KnownSetting):
    def enter(self, wanted: Values) -> Words:
        return ("ip", "link", "set", "dev", "{interface}", "mtu", wanted["mtu"])

    def check(self, wanted: Values) -> Words:
        return ("ip", "-o", "link", "show", "dev", "{interface}")

    def read(self, text: str) -> dict[str, str]:
        mtu = re.search(r"\bmtu (\d+)\b", text)
        return {"mtu": mtu[1]} if mtu else {}

    def recognized(self, words: Words) -> Values | None:
        """The MTU in ``ip link set dev {interface} mtu BYTES``; ``dev`` may be missing."""
        match [word for word in words if word != "dev"]:
            case ["ip", "link", "set", "{interface}", "mtu", mtu]:
                return {"mtu": mtu}
        return None


class OfEach(KnownSetting):
    """A setting with one file for each of several things: CPUs, or an interface's interrupts. A
    command in a matrix is never recognized as such a setting.
    """

    def __init__(self, name: str, numbers: str, file: str, *, of_interface: bool = False) -> None:
        """``numbers``: a shell pattern for paths that end in numbers. ``file``: the path of the
        file of number ``$n``. With ``of_interface``, ``$2`` in the pattern is the interface.
        """
        self._name, self._file = name, file
        self._each = f"for f in {numbers}; do n=${{f##*[!0-9]}}; [ -e {file} ] || continue"
        self._interface = ("{interface}",) if of_interface else ()

    def enter(self, wanted: Values) -> Words:
        """The command that writes the value into all files."""
        loop = f'{self._each}; echo "$1" > {self._file} || exit; done'
        return ("sh", "-c", loop, "sh", wanted[self._name], *self._interface)

    def check(self, wanted: Values) -> Words:
        """The command that prints a line with number and value for each file."""
        loop = f'{self._each}; echo "$n $(cat {self._file})"; done'
        return ("sh", "-c", loop, "sh", "-", *self._interface)

    def read(self, text: str) -> dict[str, str]:
        """Number → value."""
        pairs = (line.split() for line in text.splitlines())
        return {pair[0]: pair[1] for pair in pairs if len(pair) == 2 and pair[0].isdecimal()}

    def is_reached(self, wanted: Values, found: Values) -> bool:
        """Whether there is at least one file, and all files have the value."""
        value = _members(wanted[self._name])
        return bool(found) and all(_members(one) == value for one in found.values())

    def restore(self, wanted: Values, found: Values) -> tuple[Words, ...]:
        """For each value found, one command for every 50 files with this value; ValueError if there
        are no files.
        """
        if not found:
            raise ValueError(f"the host has no {self._name} to set")
        loop = f'v=$1; shift; for n in "$@"; do echo "$v" > {self._file} || exit; done'
        commands: list[Words] = []
        for value in dict.fromkeys(found.values()):
            numbers = [number for number, one in found.items() if one == value]
            for first in range(0, len(numbers), WORDS_MOST):
                part = numbers[first : first + WORDS_MOST]
                commands.append(("sh", "-c", loop, "sh", value, *part))
        return tuple(commands)

    def foreseen(self, wanted: Values) -> tuple[Words, ...]:
        """The command for one number, ``N``."""
        return self.restore(wanted, {"N": FOUND})


def _members(value: str) -> frozenset[str]:
    """A list of CPUs such as ``0-2,8`` as its members; another word as itself."""
    members: set[str] = set()
    for part in value.split(","):
        ends = re.fullmatch(r"(\d{1,5})-(\d{1,5})", part)
        if ends:
            members |= {str(cpu) for cpu in range(int(ends[1]), int(ends[2]) + 1)}
        else:
            members.add(part)
    return frozenset(members)


KNOWN: Mapping[str, KnownSetting] = {
    "sysctl": _Sysctl(),
    "offloads": _Ethtool("-K", "-k"),
    "coalescing": _Ethtool("-C", "-c"),
    "mtu": _Mtu(),
    "governor": OfEach("governor", f"{CPUS}/cpu[0-9]*", f"{CPUS}/cpu$n/cpufreq/scaling_governor"),
    "interrupts": OfEach(
        "interrupts",
        '/sys/class/net/"$2"/device/msi_irqs/*',
        "/proc/irq/$n/smp_affinity_list",
        of_interface=True,
    ),
}
"""The known settings, by their key in a matrix."""

CONGESTION_DEFAULT = "net.ipv4.tcp_congestion_control"
"""The sysctl with the host's default congestion control, for IPv6 as well."""


def recognized(words: Words) -> tuple[str, Values] | None:
    """The known setting that a command changes, and its values; ``None`` if there is none."""
    for name, setting in KNOWN.items():
        values = setting.recognized(words)
        if values is not None:
            return name, values
    return None


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

    ``content`` has the data of a matrix (``Matrix.content``). It may come from a file, so the types
    in it are checked.
    """
    facts: set[str] = set()
    states = [state for group in _values(content.get("variants")) for state in _values(group)]
    ends = ("server", "client")
    for changes in (state.get(end) for state in states if isinstance(state, dict) for end in ends):
        for change in changes if isinstance(changes, list) else ():
            if not isinstance(change, dict):
                continue
            kind, wanted = change.get("known"), change.get("wanted")
            if kind == "sysctl" and isinstance(wanted, list):
                names = (pair[0] for pair in wanted if isinstance(pair, list) and pair)
                facts |= {OF_SYSCTL[n] for n in names if isinstance(n, str) and n in OF_SYSCTL}
            else:
                facts |= {*(OF_KNOWN.get(kind, OF_ANY) if isinstance(kind, str) else OF_ANY)}
    return frozenset(facts)


def _values(section: object) -> tuple[object, ...]:
    return tuple(section.values()) if isinstance(section, dict) else ()


@dataclass(frozen=True, slots=True)
class State:
    """One state of a group: what is changed at each end of a pairing."""

    server: tuple[Change, ...] = ()
    client: tuple[Change, ...] = ()
    settle_s: float = 0.0
    """Time to wait after the changes, for example until the link of a changed interface is up."""

    def changes(self, end: EndName) -> tuple[Change, ...]:
        """The changes at one end."""
        return self.server if end == "server" else self.client


Variants = Mapping[str, Mapping[str, State]]
"""Group → name of a state → the state."""


def level_of(states: Mapping[str, str]) -> str:
    """The value of the axis that names ``states``, a mapping of groups to names of states."""
    return " ".join(f"{group}={states[group]}" for group in sorted(states))


def states_of(level: str) -> dict[str, str]:
    """Group → state, for a value of the axis; ValueError if ``level`` is not such a value."""
    states: dict[str, str] = {}
    for word in level.split():
        group, equals, state = word.partition("=")
        if not (group and equals and state):
            raise ValueError(f"`{word}` names no state: write GROUP=STATE, such as offload=off")
        if group in states:
            raise ValueError(f"`{level}` names two states of {group}")
        states[group] = state
    return states


def every_level(states: Mapping[str, Collection[str]]) -> Iterator[str]:
    """All combinations of one state of each group; the last group varies fastest."""
    for names in itertools.product(*states.values()):
        yield level_of(dict(zip(states, names, strict=True)))


def chosen(variants: Variants, level: str | None) -> tuple[State, ...]:
    """The states that a value of the axis names, in the order of the matrix."""
    if level is None:
        return ()
    names = states_of(level)
    return tuple(states[names[group]] for group, states in variants.items() if group in names)


def mtus_of(states: Iterable[State]) -> list[str]:
    """The MTUs that the states set, as texts."""
    changes = (change for state in states for change in (*state.server, *state.client))
    return [value for one in changes if one.known == "mtu" for _, value in one.wanted]


def largest_mtu(variants: Variants) -> int:
    """The largest MTU in bytes that a state sets; 0 if no state sets an MTU."""
    values = mtus_of(state for states in variants.values() for state in states.values())
    return max((int(value) for value in values if value.isascii() and value.isdigit()), default=0)


def content_of(variants: Variants) -> dict[str, Any]:
    """The variants as plain JSON, with all commands: if a command differs, the JSON differs."""
    content = {
        group: {name: asdict(state) for name, state in sorted(states.items())}
        for group, states in sorted(variants.items())
    }
    plain: dict[str, Any] = json.loads(json.dumps(content))
    return plain
