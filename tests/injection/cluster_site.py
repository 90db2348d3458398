"""A dask scheduler and its workers in network namespaces beside a lab: two sites that reach each
other's hosts over the test network only.

Each namespace has an address in the lab's management network. A worker has no route to the hosts
and the workers of the other site, and the process of the run none but to the scheduler.
"""

from __future__ import annotations

import ipaddress
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from netlab.lab import LabState
from netlab.lab.network import processes
from netlab.lab.programs import run, succeeds

PORT = 8786
FIRST = 200
"""Last byte of the first address that a lab gives to none of its hosts."""
DASK = [sys.executable, "-m", "dask"]
READY_S = 120.0


@dataclass(slots=True)
class Node:
    """A namespace with a dask process in it, or with the run."""

    name: str
    namespace: str
    address: str
    site: str
    port: str
    """Interface of the root namespace at the other end of the node's cable."""
    process: subprocess.Popen[bytes] | None = None


@dataclass(slots=True)
class ClusterSite:
    """The scheduler, the workers and the namespace of the run."""

    lab: LabState
    folder: Path
    sites: Mapping[str, Sequence[str]]
    """Name of a site → names of its hosts."""
    nodes: dict[str, Node] = field(default_factory=dict)
    runs: list[subprocess.Popen[str]] = field(default_factory=list)
    """What `typed` has started."""

    @property
    def address(self) -> str:
        """The words of `--cluster`."""
        return f"tls://{self.nodes['scheduler'].address}:{PORT}"

    @property
    def workers(self) -> list[str]:
        return [name for name in self.nodes if name not in ("scheduler", "run")]

    @property
    def inventory(self) -> Path:
        """The lab's inventory, with the site of each host."""
        site_of = {host: site for site, hosts in self.sites.items() for host in hosts}
        lines = []
        assert self.lab.hosts_file is not None
        for line in self.lab.hosts_file.read_text().splitlines():
            lines.append(line)
            name = line.strip().removesuffix(":")
            if name in site_of:
                lines.append(f"    site: {site_of[name]}")
        file = self.folder / "sites.yaml"
        file.write_text("\n".join(lines) + "\n")
        return file

    def environment(self, role: str) -> dict[str, str]:
        """dask's own way to name certificates, for a ``scheduler``, ``worker`` or ``client``."""
        words = {
            "CA_FILE": "cluster.pem",
            f"{role.upper()}__CERT": "cluster.pem",
            f"{role.upper()}__KEY": "cluster.key",
        }
        tls = {f"DASK_DISTRIBUTED__COMM__TLS__{key}": word for key, word in words.items()}
        tls["DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION"] = "true"
        tls["DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES"] = "0"
        tls["DASK_TEMPORARY_DIRECTORY"] = str(self.folder / "scratch")
        return {
            **os.environ,
            **{
                key: str(self.folder / word) if word.startswith("cluster.") else word
                for key, word in tls.items()
            },
        }

    def start(self, name: str, *options: str) -> None:
        """Start the scheduler, or a worker of its site with one thread."""
        node = self.nodes[name]
        if name == "scheduler":
            words = [*DASK, "scheduler", "--host", node.address, "--protocol", "tls"]
            words += ["--port", str(PORT), "--no-dashboard"]
        else:
            words = [*DASK, "worker", self.address, "--host", node.address, "--protocol", "tls"]
            words += ["--nthreads", "1", "--no-nanny", "--no-dashboard"]
            words += ["--resources", f"{node.site}=1", "--name", name]
        role = "scheduler" if name == "scheduler" else "worker"
        with (self.folder / f"{name}.log").open("ab") as log:
            node.process = subprocess.Popen(
                ["ip", "netns", "exec", node.namespace, *words, *options],
                env=self.environment(role),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def kill(self, name: str, number: int = signal.SIGKILL) -> None:
        """Send a signal to a scheduler or worker; after SIGKILL, wait for its end."""
        process = self.nodes[name].process
        assert process is not None
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        if number == signal.SIGKILL:
            process.wait()

    def typed(self, *words: str) -> subprocess.Popen[str]:
        """``netlab words…`` as a person starts it in the namespace of the run."""
        program = [sys.executable, "-m", "netlab", *words]
        process = subprocess.Popen(
            ["ip", "netns", "exec", self.nodes["run"].namespace, *program],
            cwd=self.folder,
            env=self.environment("client"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.runs.append(process)
        return process

    def probes(self) -> dict[str, list[int]]:
        """Name of a host → the probes that run there."""
        return {
            host.name: [pid for pid in processes(host.namespace) if _is_probe(pid)]
            for host in self.lab.hosts
        }

    def _is_up(self) -> bool:
        """Whether the scheduler and all workers are connected: each worker prints so."""
        logs = [(self.folder / f"{name}.log").read_text() for name in self.workers]
        return all("Registered to:" in log for log in logs)

    def wait(self) -> None:
        """Wait until all workers have found the scheduler."""
        until_s = time.monotonic() + READY_S
        while not self._is_up():
            assert time.monotonic() < until_s, (self.folder / "scheduler.log").read_text()
            time.sleep(0.1)


def _is_probe(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/comm").read_text().startswith("netprobe")
    except OSError:
        return False


@contextmanager
def cluster_site(
    lab: LabState, folder: Path, sites: Mapping[str, Sequence[str]], workers_a_site: int = 2
) -> Iterator[ClusterSite]:
    """Start a scheduler and workers beside a lab, and remove all of them at the end."""
    site = ClusterSite(lab, folder, sites)
    _make_certificate(folder)
    names = [
        ("scheduler", ""),
        ("run", ""),
        *((f"{name}-{k}", name) for name in sites for k in range(1, workers_a_site + 1)),
    ]
    assert lab.plan is not None
    network = ipaddress.ip_interface(lab.plan.controller_address).network
    try:
        for number, (name, of_site) in enumerate(names):
            address = str(network.network_address + FIRST + number)
            port = f"{lab.plan.bridge}-c{number}"
            node = Node(name, f"{lab.name}-c{number}", address, of_site, port)
            site.nodes[name] = node
            _make_namespace(lab.plan.bridge, node, network.prefixlen)
        _close_sites(site)
        for name in ("scheduler", *site.workers):
            site.start(name)
        site.wait()
        yield site
    finally:
        for process in site.runs:
            if process.poll() is None:
                process.kill()
                process.communicate()
        for node in site.nodes.values():
            if node.process is not None:
                site.kill(node.name, signal.SIGCONT)
                site.kill(node.name)
            # With its namespace, the kernel would remove the interface some time later.
            succeeds("ip", "link", "delete", node.port)
            succeeds("ip", "netns", "delete", node.namespace)


def _make_namespace(bridge: str, node: Node, prefix: int) -> None:
    run("ip", "netns", "add", node.namespace)
    words = ["type", "veth", "peer", "name", "management", "netns", node.namespace]
    run("ip", "link", "add", "name", node.port, *words)
    run("ip", "link", "set", "dev", node.port, "master", bridge, "up")
    address = f"{node.address}/{prefix}"
    run("ip", "-n", node.namespace, "address", "add", address, "dev", "management")
    for device in ("lo", "management"):
        run("ip", "-n", node.namespace, "link", "set", "dev", device, "up")


def _close_sites(site: ClusterSite) -> None:
    """Take the routes from each worker to the other site, and from the run to all but the
    scheduler.
    """
    hosts = {host.name: host.management_address for host in site.lab.hosts}
    workers = {name: site.nodes[name] for name in site.workers}
    for node in site.nodes.values():
        own = set(site.sites.get(node.site, ()))
        closed = [address for name, address in hosts.items() if name not in own]
        closed += [other.address for other in workers.values() if other.site != node.site]
        for address in closed if node.name != "scheduler" else ():
            run("ip", "-n", node.namespace, "route", "add", "unreachable", f"{address}/32")


def _make_certificate(folder: Path) -> None:
    """One certificate for all, signed by itself: dask checks who signed it, and no names."""
    words = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=cluster"]
    run("openssl", "req", *words, "-keyout", str(folder / "cluster.key"), "-out",
        str(folder / "cluster.pem"))  # fmt: skip
    (folder / "cluster.key").chmod(0o600)
