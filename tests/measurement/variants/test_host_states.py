"""Real agents apply, check and undo the variants of two hosts."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from draws import chance, drawn
from made_matrices import load
from undo_logs import Notes, notes
from wired_pools import wires
from wires import TEST_CLIENT, TEST_SERVER, Wires

from netlab.errors import ProbeError
from netlab.experiment.cells import Cell
from netlab.experiment.matrix import expand
from netlab.measurement.ends import Ends
from netlab.measurement.variants import HostStates
from netlab.remote.agent import Agent
from netlab.remote.programs import leftovers

__all__ = ["load", "notes", "wires"]

ENDS = ("server", "client")
ECN = "net.ipv4.tcp_ecn"
TESTS = "tests: [{test: stream, protocol: TCP, message_size: 64, duration: 100ms}]\n"


@dataclass
class TwoHosts:
    """The states of one matrix on two hosts, and what their systems say of themselves."""

    wires: Wires
    states: HostStates
    cells: dict[str | None, Cell]
    ends: Ends = field(init=False)

    def __post_init__(self) -> None:
        self.ends = Ends(self._agent("server"), self._agent("client"), same_host=False)

    def _agent(self, end: str) -> Agent:
        if end == "server":
            return self.wires.agent("left", self.wires.server, TEST_SERVER)
        return self.wires.agent("right", self.wires.client, TEST_CLIENT)

    def enter(self, level: str | None) -> dict[str, Any]:
        return self.states.enter(self.cells[level], self.ends)

    def inside(self, end: str, words: str) -> str:
        """What a command prints in the namespace of an end."""
        namespace = self.wires.server if end == "server" else self.wires.client
        argv = ["ip", "netns", "exec", namespace, *shlex.split(words)]
        return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()

    def ecn(self, end: str) -> str:
        return self.inside(end, f"sysctl -n {ECN}")

    def offload(self, end: str, name: str) -> str:
        lines = self.inside(end, "ethtool -k test0").splitlines()
        return next(line.split()[1] for line in lines if line.strip().startswith(name + ":"))

    def replace_killed(self, *ends: str) -> None:
        """Kill agents as a crash does, and start new ones as soon as their connections end."""
        for end in ends:
            agent = self.ends.agent_of(end)
            os.kill(int(agent.hello["pid"]), signal.SIGKILL)
            give_up = time.monotonic() + 60
            while not agent.gone:
                assert time.monotonic() < give_up
                time.sleep(0.01)
        server, client = (
            self._agent(end) if end in ends else self.ends.agent_of(end) for end in ENDS
        )
        self.ends = Ends(server, client, same_host=False)


@pytest.fixture
def hosts(wires: Wires, notes: Notes, load: Any) -> Callable[[str], TwoHosts]:
    """Two hosts for the variants of a matrix; their undo log is the test's."""

    def of_variants(variants: str) -> TwoHosts:
        matrix = load(f"pairings: [LL]\nvariants:\n{variants}{TESTS}")
        cells: dict[str | None, Cell] = {cell.setup.variant: cell for cell in expand(matrix)}
        as_found = load(f"pairings: [LL]\n{TESTS}")
        cells[None] = expand(as_found)[0]
        return TwoHosts(wires, HostStates(matrix.variants), cells)

    return of_variants


BOTH_KINDS = """\
  ecn:
    wanted: {both: {sysctl: {net.ipv4.tcp_ecn: 1}}}
    unwanted: {server: {sysctl: {net.ipv4.tcp_ecn: 0}}}
  offload:
    on: {client: {offloads: {gso: on}}}
    off: {client: {enter: "ethtool -K {interface} gso off", check: "ethtool -k {interface}", restore: as found}}
"""  # noqa: E501


def test_a_variant_is_applied_checked_and_undone_on_both_hosts(
    hosts: Callable[[str], TwoHosts],
) -> None:
    two = hosts(BOTH_KINDS)
    assert (two.ecn("server"), two.ecn("client")) == ("2", "2")
    assert two.offload("client", "generic-segmentation-offload") == "on"
    values = two.enter("ecn=wanted offload=off")
    assert (two.ecn("server"), two.ecn("client")) == ("1", "1")
    assert two.offload("client", "generic-segmentation-offload") == "off"
    assert values["server_state"] == f"{ECN} = 1"
    assert f"{ECN} = 1\n" in values["client_state"]
    assert "generic-segmentation-offload: off" in values["client_state"]
    # The next state begins with what was found: the client's ECN is nobody's any more.
    assert two.enter("ecn=unwanted offload=on") == {
        "server_state": f"{ECN} = 0",
        "client_state": two.inside("client", "ethtool -k test0"),
    }
    assert (two.ecn("server"), two.ecn("client")) == ("0", "2")
    assert two.offload("client", "generic-segmentation-offload") == "on"
    assert two.states.changed == ["left", "right"]
    # A cell without a variant is measured as the hosts were found.
    assert two.enter(None) == {}
    assert two.states.changed == []
    assert two.ecn("server") == "2"
    assert two.offload("client", "generic-segmentation-offload") == "on"
    assert two.states.restore() == []
    assert leftovers(two.ends.client).entries == ()


def test_a_variant_that_somebody_else_changed_is_reported_as_not_reached(
    hosts: Callable[[str], TwoHosts],
) -> None:
    two = hosts("  ecn: {wanted: {client: {sysctl: {net.ipv4.tcp_ecn: 1}}}}\n")
    two.enter("ecn=wanted")
    two.inside("client", f"sysctl -w {ECN}=0")
    with pytest.raises(ProbeError) as caught:
        two.enter("ecn=wanted")
    assert caught.value.word == "state-not-reached"
    assert caught.value.host == "right"
    assert caught.value.detail == f"`sysctl {ECN}` prints {ECN} 0, not 1"
    assert two.states.restore() == []
    assert two.ecn("client") == "2"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("sysctl: {net.ipv4.tcp_enc: 1}", "exit code 1: sysctl: cannot stat"),
        ("sysctl: {net.ipv4.tcp_ecn: many}", "`sysctl -w net.ipv4.tcp_ecn=many` ended with exit"),
        ("congestion: nosuch", "net.ipv4.tcp_congestion_control=nosuch` ended with exit code"),
        (
            "offloads: {gso: off, nosuch: on}",
            "the host has no nosuch, according to `ethtool -k test0`",
        ),
        (
            "{enter: 'ip link set {interface} mtu 99999', check: 'ip link show {interface}', "
            "restore: as found}",
            "greater than device maximum",
        ),
        ("interrupts: 0", "interrupts"),
        ("governor: performance", "governor"),
        ("{enter: nosuchprogram, check: 'true', restore: 'true'}", "`nosuchprogram`: "),
        ("{enter: 'sh -c \"exit 7\"', check: 'true', restore: 'true'}", "ended with exit code 7"),
        ("{enter: 'true', check: 'echo off', restore: 'true', expect: '^on$'}", "`^on$`: off"),
        ("{enter: 'true', check: 'sh -c \"echo no >&2; exit 1\"', restore: 'true'}", "code 1: no"),
        ("{enter: 'kill-me', check: 'true', restore: 'true'}", "kill-me"),
    ],
)
def test_a_change_that_cannot_be_made_is_reported_and_all_changes_are_undone(
    hosts: Callable[[str], TwoHosts], change: str, sentence: str
) -> None:
    body = change if change.startswith("{") else f"{{{change}}}"
    two = hosts(
        "  first: {on: {client: {sysctl: {net.ipv4.tcp_sack: 0}}}}\n"
        f"  second: {{on: {{client: {body}}}}}\n"
    )
    with pytest.raises(ProbeError) as caught:
        two.enter("first=on second=on")
    assert caught.value.word == "state-not-reached"
    assert sentence in caught.value.detail
    assert "\n" not in caught.value.detail
    assert two.states.restore() == []
    assert two.inside("client", "sysctl -n net.ipv4.tcp_sack") == "1"
    assert leftovers(two.ends.client).entries == ()


def test_a_change_that_cannot_be_undone_is_reported_and_tried_again(
    hosts: Callable[[str], TwoHosts], tmp_path: Path
) -> None:
    mark = tmp_path / "mark"
    two = hosts(
        f"  own: {{on: {{client: {{enter: 'true', check: 'true', restore: 'rmdir {mark}'}}}}}}\n"
    )
    two.enter("own=on")
    (sentence,) = two.states.restore()
    assert sentence.startswith(f"right: its settings were not put back: `rmdir {mark}` ended with")
    assert two.states.changed == ["right"]
    mark.mkdir()
    assert two.states.restore() == []
    assert not mark.exists()
    assert two.states.changed == []


def test_the_changes_of_a_killed_agent_are_undone_before_new_changes(
    hosts: Callable[[str], TwoHosts],
) -> None:
    two = hosts(BOTH_KINDS)
    two.enter("ecn=wanted offload=off")
    two.replace_killed("server", "client")
    # At once: the keepers may still wait for what the agents started.
    values = two.enter("ecn=unwanted offload=off")
    assert values["server_state"] == f"{ECN} = 0"
    assert (two.ecn("server"), two.ecn("client")) == ("0", "2")
    assert two.offload("client", "generic-segmentation-offload") == "off"
    assert two.states.restore() == []
    assert (two.ecn("server"), two.ecn("client")) == ("2", "2")
    assert two.offload("client", "generic-segmentation-offload") == "on"


def test_a_host_whose_probe_has_no_undo_log_is_not_changed(
    hosts: Callable[[str], TwoHosts], monkeypatch: pytest.MonkeyPatch
) -> None:
    two = hosts("  ecn: {wanted: {client: {sysctl: {net.ipv4.tcp_ecn: 1}}}}\n")
    monkeypatch.setitem(two.ends.client.hello, "capabilities", "run")
    with pytest.raises(ProbeError, match="cannot undo changes, so netlab makes no change"):
        two.enter("ecn=wanted")
    assert two.ecn("client") == "2"


DRAWN = """\
  ecn:
    on: {both: {sysctl: {net.ipv4.tcp_ecn: 1}}}
    off: {client: {sysctl: {net.ipv4.tcp_ecn: 0, net.ipv4.tcp_sack: 0}}}
    found: {}
  mtu:
    small: {both: {mtu: 1280}}
    own: {server: {enter: "ip link set dev {interface} mtu 1400", check: "ip link show dev {interface}", restore: as found}}
  offload:
    off: {client: {offloads: {gso: off, tso: off}}, server: {offloads: {gro: on}}}
    on: {client: {offloads: {gso: on}}}
  queue:
    long: {both: {enter: "ip link set dev {interface} txqueuelen 777", check: "ip link show dev {interface}", expect: "qlen 777", restore: "ip link set dev {interface} txqueuelen 1000"}}
    found: {}
"""  # noqa: E501


def test_randomly_drawn_variants_are_applied_and_undone(
    hosts: Callable[[str], TwoHosts],
) -> None:
    draw = chance("host states")
    two = hosts(DRAWN)
    for end in ENDS:
        two.inside(end, "ip link set dev test0 txqueuelen 1000")
    facts_now = facts(two)
    levels = sorted(level for level in two.cells if level)
    assert len(levels) == 24
    for _ in range(drawn(8, 60)):
        if draw.random() < 0.2:
            two.replace_killed(*draw.choice([("server",), ("client",), ("server", "client")]))
        level = draw.choice([None, *levels])
        two.enter(level)
        assert facts(two) == facts_now | wanted(level), level
    assert two.states.restore() == []
    assert facts(two) == facts_now


Facts = dict[tuple[str, str], str]


def facts(two: TwoHosts) -> Facts:
    values: Facts = {}
    for end in ENDS:
        link = two.inside(end, "ip link show dev test0").split()
        offloads = two.inside(end, "ethtool -k test0").splitlines()
        values |= {
            (end, "ecn"): two.ecn(end),
            (end, "sack"): two.inside(end, "sysctl -n net.ipv4.tcp_sack"),
            (end, "mtu"): link[link.index("mtu") + 1],
            (end, "queue"): link[link.index("qlen") + 1],
        }
        for short, name in (("gso", "generic-seg"), ("tso", "tcp-seg"), ("gro", "generic-rec")):
            (line,) = (line for line in offloads if line.startswith(name))
            values[end, short] = line.split()[1]
    return values


def wanted(level: str | None) -> Facts:
    """What a state of ``DRAWN`` changes."""
    facts_by_host: dict[str, Facts] = {
        "ecn=on": {("server", "ecn"): "1", ("client", "ecn"): "1"},
        "ecn=off": {("client", "ecn"): "0", ("client", "sack"): "0"},
        "mtu=small": {("server", "mtu"): "1280", ("client", "mtu"): "1280"},
        "mtu=own": {("server", "mtu"): "1400"},
        "offload=off": {
            ("client", "gso"): "off",
            ("client", "tso"): "off",
            ("server", "gro"): "on",
        },
        "offload=on": {("client", "gso"): "on"},
        "queue=long": {("server", "queue"): "777", ("client", "queue"): "777"},
    }
    values: Facts = {}
    for word in (level or "").split():
        values |= facts_by_host.get(word, {})
    return values
