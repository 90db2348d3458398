"""A lab with machines of their own kernel: netlab runs in one network namespace (*near*); a machine
is the other host, or the router to a host in a second namespace (*far*).

    near, 10.81.1.1 ── machine, 10.81.1.2
    near, 10.81.1.1 ── machine, 10.81.1.254 and 10.81.2.254 ── far, 10.81.2.1

Traffic leaves these namespaces for nowhere. Logins go over the machine's own card for them, and to
*far* over a cable of its own.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from machine import CARD_SPEED_MBIT, Machine, inside, tap
from machine_image import Release
from sshd import Sshd, make_key, public

from netlab.findings.analysis import Analysis, load
from netlab.findings.finding import Finding

NEAR, HOST, TO_NEAR = "10.81.1.1", "10.81.1.2", "10.81.1.254"
FAR, TO_FAR = "10.81.2.1", "10.81.2.254"
LOGINS = ("10.81.9.1", "10.81.9.2")
RUN_S = 400.0
ROUTES = ("sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.send_redirects=0",)


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@dataclass
class MachineLab:
    """Namespaces, machines, and runs between them."""

    folder: Path
    stack: contextlib.ExitStack
    near: str = f"netlab-m{os.getpid()}-near"
    far: str = f"netlab-m{os.getpid()}-far"
    hosts: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The inventory."""
    machines: dict[str, Machine] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.key = make_key(self.folder / "home" / ".ssh" / "id_ed25519")
        self._namespace(self.near)
        self.hosts["near"] = {"os": "L", "local": True, "addresses": {"test": NEAR}}

    def host(
        self,
        *,
        name: str = "machine",
        release: Release = "today",
        model: str = "virtio-net-pci",
        commands: Sequence[str] = (),
    ) -> Machine:
        """A machine that is a host: its interface eth1 is on near's cable."""
        card = self.stack.enter_context(tap(self.near, "test", model))
        self._cable_end(self.near, "test", NEAR)
        own = [f"ip address add {HOST}/24 dev eth1", "ip link set eth1 up", *commands]
        new = Machine(name, self.key, [card], own, release, namespace=self.near)
        machine = self.machines[name] = self.stack.enter_context(new)
        self.hosts[name] = {
            "os": "L",
            "ssh": f"root@127.0.0.1:{machine.port}",
            "host_key": machine.host_key,
            "identity": str(self.key),
            "addresses": {"test": HOST},
        }
        return machine

    def router(self, *, commands: Sequence[str] = (), release: Release = "today") -> Machine:
        """A machine that forwards: eth1 to near, eth2 to far."""
        self._namespace(self.far)
        self._make_far_a_host()
        cards = []
        own = [*ROUTES]
        ends = ((self.near, NEAR, TO_NEAR), (self.far, FAR, TO_FAR))
        for number, (namespace, address, gateway) in enumerate(ends, 1):
            cards.append(self.stack.enter_context(tap(namespace, "test")))
            self._cable_end(namespace, "test", address)
            ip("-n", namespace, "route", "add", "10.81.0.0/16", "via", gateway)
            own += [f"ip address add {gateway}/24 dev eth{number}", f"ip link set eth{number} up"]
        new = Machine("router", self.key, cards, [*own, *commands], release, self.near)
        self.machines["router"] = self.stack.enter_context(new)
        return self.machines["router"]

    def begin(self, matrix: str, name: str = "run") -> subprocess.Popen[str]:
        """``netlab run`` of a matrix, at near, into ``folder/NAME``."""
        (self.folder / "hosts.yaml").write_text(json.dumps({"hosts": self.hosts}))
        (self.folder / f"{name}.yaml").write_text(matrix)
        words = ["run", f"{name}.yaml", "--hosts", "hosts.yaml", "--into", name, "--no-report"]
        return subprocess.Popen(
            ["ip", "netns", "exec", self.near, sys.executable, "-m", "netlab", *words],
            cwd=self.folder,
            env={**os.environ, "HOME": str(self.folder / "home")},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def end(self, process: subprocess.Popen[str], name: str = "run", code: int = 0) -> Analysis:
        """The run that a process has measured, once it has ended with this exit code."""
        deadline = threading.Timer(RUN_S, process.kill)
        deadline.start()
        try:
            said = "".join(process.communicate())
        finally:
            deadline.cancel()
        assert process.returncode == code, said
        return load(self.folder / name)

    def run(self, matrix: str, name: str = "run", code: int = 0) -> Analysis:
        return self.end(self.begin(matrix, name), name, code)

    def _namespace(self, name: str) -> None:
        ip("netns", "add", name)
        self.stack.callback(ip, "netns", "delete", name)
        ip("-n", name, "link", "set", "lo", "up")

    def _cable_end(self, namespace: str, device: str, address: str) -> None:
        """An address for the end of a machine's cable, and the speed of the machine's card: a new
        one says 10 Mbit/s.
        """
        ip("-n", namespace, "address", "add", f"{address}/24", "dev", device)
        speed = ["speed", str(CARD_SPEED_MBIT), "duplex", "full"]
        argv = ["ip", "netns", "exec", namespace, "ethtool", "-s", device, *speed]
        subprocess.run(argv, check=True, capture_output=True)
        ip("-n", namespace, "link", "set", device, "up")

    def _make_far_a_host(self) -> None:
        """An SSH server in far, over a cable that nothing else uses."""
        ip("-n", self.near, "link", "add", "logins", "type", "veth",
           "peer", "name", "logins", "netns", self.far)  # fmt: skip
        for namespace, address in zip((self.near, self.far), LOGINS, strict=True):
            ip("-n", namespace, "address", "add", f"{address}/24", "dev", "logins")
            ip("-n", namespace, "link", "set", "logins", "up")
        server = Sshd(
            self.folder / "far",
            self.key,
            within=("ip", "netns", "exec", self.far),
            address=LOGINS[1],
        )
        self.stack.callback(server.stop)
        with inside(self.near):
            server.start()
        self.hosts["far"] = {
            "os": "L",
            "ssh": f"root@{LOGINS[1]}:{server.port}",
            "host_key": public(server.key()),
            "identity": str(self.key),
            "addresses": {"test": FAR},
        }


@contextlib.contextmanager
def machine_lab(folder: Path) -> Iterator[MachineLab]:
    """A lab whose namespaces and machines are gone afterwards."""
    with contextlib.ExitStack() as stack:
        yield MachineLab(folder, stack)


def names_of(run: Analysis) -> set[str]:
    """The kinds of a run's findings."""
    return {str(finding.kind) for finding in run.findings}


def the(run: Analysis, kind: str) -> Finding:
    """The one finding of a kind."""
    found = [finding for finding in run.findings if finding.kind == kind]
    assert len(found) == 1, said_by(run)
    return found[0]


def said_by(run: Analysis) -> str:
    """Statuses, findings and their evidence: what a failed test shows."""
    states = [f"{record.cell}: {record.status} {record.detail}" for record in run.records]
    found = [
        f"{finding.kind} {finding.group} {dict(finding.evidence)} {dict(finding.words)}"
        for finding in run.findings
    ]
    return "\n".join([*states, *found])
