"""The workers of a run with `--cluster`: dask workers, each at a site whose hosts it reaches.

A worker names its sites as resources (``dask worker --resources "north=1"``), a host in the
inventory by ``site:``. The run keeps the plan and writes the journal; a worker opens agents and
measures trials. Each host belongs to one worker at a time.
"""

from __future__ import annotations

import ipaddress
import logging
import math
import re
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Future, wait
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from netlab import errors
from netlab.errors import ClusterLost, HostError, HostGone, UsageError
from netlab.experiment.hosts import Host
from netlab.experiment.schedule import Trial
from netlab.measurement import engines
from netlab.measurement.ends import Ends, OnGoodput
from netlab.remote.agent import SILENCE_S, Agent
from netlab.runner.cluster import relay as relay_room
from netlab.runner.cluster import worker
from netlab.runner.ending import DaemonExecutor
from netlab.runner.places import TrialPlace
from netlab.trial.record import Record, from_json
from netlab.version import VERSION

if TYPE_CHECKING:
    import distributed


LOOK_S = 0.5
"""Interval of looks at whether a worker that has a task is lost."""
ANSWER_S = 20.0
"""Time for the scheduler and for a worker to answer."""
END_S = 2.0
"""Time for all workers together to end the session."""
KNOWN_S = 1.0
"""The scheduler's list of workers is asked for at most once in this time."""


class Controllers(TrialPlace):
    """The workers of a cluster during one session of a run. Threads may share the object."""

    def __init__(self, client: distributed.Client, address: str) -> None:
        super().__init__()
        self._client = client
        self._address = address
        self._run = secrets.token_hex(8)
        self._relays: dict[str, relay_room.Relay] = {}
        self._refused: set[str] = set()
        self._places: dict[str, str] = {}
        self._sites: dict[str, frozenset[str]] = {}
        self._sites_at_s = -math.inf
        self._beginnings: dict[str, threading.Lock] = {}
        self._guard = threading.RLock()
        self._closed = False

    # What a run asks for

    def arrange(self, pairs: Iterable[tuple[Host, Host]]) -> None:
        """Give each host to a worker of its site, and the hosts of a pair to one if possible."""
        pairs = list(pairs)
        names = {host.name for pair in pairs for host in pair}
        share = math.ceil(len(names) / max(1, len(self._workers())))
        most = share + share % 2
        with self._guard:
            for server, client in pairs:
                for host, peer in ((server, client), (client, server)):
                    if host.has_agent and host.name not in self._places:
                        with suppress(HostError):  # raised again when the host is opened
                            self._places[host.name] = self._choose(host, peer, most)

    def open_agent(self, host: Host, on_event: Callable[[str], None]) -> Agent:
        """Open an agent at the worker of a host. Raises HostError and its subclasses."""
        with self._guard:
            address = self._places.get(host.name)
            if address is None or address not in self._candidates(host):
                self._places.pop(host.name, None)
                address = self._places[host.name] = self._choose(host, None, math.inf)
            beginning = self._beginnings.setdefault(address, threading.Lock())
        with beginning:  # a worker that does not answer delays its own hosts only
            relay = self._relays.get(address)
            if relay is None or relay.why_lost is not None:
                relay = self._relays[address] = self._new_relay(host, address)
        opened: relay_room.Opened = self._call(relay, host.name, worker.open_host, self._run, host)
        for sentence in opened.events:
            on_event(sentence)
        if opened.error:
            kind = getattr(errors, opened.error, HostError)
            if kind is errors.ProbeError:  # it cannot be made from a sentence alone
                kind = HostError
            elif kind is errors.UnknownHostKey:  # ... nor can this one
                kind = errors.HostKeyError
            raise kind(opened.sentence)
        transport = relay_room.RelayedTransport(relay, host.name)
        self.connections.add(transport)
        agent = Agent(host, transport, transport.start(None))
        agent.probe_path = opened.probe_path
        agent.greet(None, on_event)
        return agent

    def measure(self, trial: Trial, ends: Ends, attempt: int, live: OnGoodput) -> Record:
        """Measure one attempt of a trial at the worker of its server. HostGone if a host or a
        worker is lost.

        A trial that must meet the trials of other pairs, or that writes frames into the run folder,
        is led from here; its hosts are still reached through their workers.
        """
        is_led_here = ends.participant is not None or trial.cell.setup.keeps_frames
        agent = ends.server or ends.client
        relay = self._relays.get(self._places.get(agent.host.name, ""))
        if is_led_here or relay is None:
            return engines.measure(trial, ends, attempt, live)
        token = secrets.token_hex(8)
        place_of = self._places.__getitem__
        order = relay_room.order_of(trial, attempt, ends, place_of, run=self._run, token=token)
        relay.totals[token] = partial(live, trial.cell)
        try:
            done: relay_room.Done = self._call(relay, agent.host.name, worker.measure, order)
        finally:
            del relay.totals[token]
        if done.token != token:
            raise HostGone("its worker sent the record of another trial")
        if done.outcome == "host-gone":
            raise HostGone(done.text)
        if done.outcome == "defect":
            raise RuntimeError(f"at a worker:\n{done.text}")
        return from_json(done.text)

    def check(self) -> None:
        """ClusterLost if the scheduler is lost: then the run ends, and is resumed later."""
        if not self._closed and self._client.status != "running":
            raise ClusterLost(f"the scheduler {self._address} is lost")

    def close(self) -> None:
        """End the session at every worker, and leave the scheduler. Safe to call again."""
        if self._closed:
            return
        self._closed = True
        executor = DaemonExecutor()
        relays = list(self._relays.items())
        ends = [
            executor.submit(worker.WorkerCalls(self._client, address, self._run), worker.end)
            for address, relay in relays
            if relay.why_lost is None
        ]
        wait(ends, END_S)
        for _address, relay in relays:
            relay.close()
        wait([executor.submit(self._client.close, timeout=END_S)], END_S)

    # Workers

    def _workers(self) -> dict[str, frozenset[str]]:
        with self._guard:
            if time.monotonic() - self._sites_at_s > KNOWN_S:
                self.check()  # dask itself would wait for the scheduler to come back
                try:
                    asked = DaemonExecutor().submit(self._client.scheduler_info, n_workers=-1)
                    info = asked.result(ANSWER_S)
                except Exception:
                    raise HostError(f"the scheduler {self._address} does not answer") from None
                self._sites = {
                    address: frozenset(its["resources"]) for address, its in info["workers"].items()
                }
                self._sites_at_s = time.monotonic()
            return self._sites

    def _candidates(self, host: Host) -> list[str]:
        return [
            address
            for address, sites in self._workers().items()
            if (host.site is None or host.site in sites)
            and address not in self._refused
            and (address not in self._relays or self._relays[address].why_lost is None)
        ]

    def _choose(self, host: Host, peer: Host | None, most: float) -> str:
        """A worker for a host: that of its peer, if it has room, else the one with fewest hosts."""
        candidates = self._candidates(host)
        if not candidates:
            if host.site is None:
                raise HostError(f"{host.name}: no worker of {self._address} is there")
            raise HostError(
                f"{host.name}: no worker of {self._address} has the site {host.site} "
                f'(dask worker --resources "{host.site}=1")'
            )
        counts = Counter(self._places.values())
        near = self._places.get(peer.name) if peer is not None else None
        if near in candidates and counts[near] < most:
            return str(near)
        return min(candidates, key=lambda address: (counts[address], address))

    def _new_relay(self, host: Host, address: str) -> relay_room.Relay:
        calls = worker.WorkerCalls(self._client, address, self._run)
        try:  # dask itself may wait forever
            version = DaemonExecutor().submit(calls, worker.begin).result(ANSWER_S)
        except (ImportError, AttributeError):
            self._refused.add(address)
            raise HostError(
                f"{host.name}: its worker {address} has no netlab {VERSION}: install it there"
            ) from None
        except Exception as error:
            self._sites_at_s = -math.inf
            raise HostError(f"{host.name}: {relay_room.loss(address, error)}") from None
        if version != VERSION:
            self._refused.add(address)
            raise HostError(
                f"{host.name}: its worker {address} has netlab {version}, this is {VERSION}; they "
                "have to be the same"
            )
        return relay_room.Relay(calls, worker.SPINE, address)

    def _call(
        self, relay: relay_room.Relay, host: str, task: Callable[..., Any], *words: Any
    ) -> Any:
        """The result of a task at a worker; HostGone with the host's name if the worker is lost."""
        # netlab itself repeats trials: dask must neither retry a task nor move it elsewhere.
        executor = self._client.get_executor(
            workers=[relay.label], allow_other_workers=False, pure=False, retries=0
        )
        try:
            future: Future[Any] = executor.submit(task, *words)
        except Exception as error:
            raise HostGone(f"the scheduler {self._address} is lost ({error})") from None
        while True:
            if relay.silent_s > SILENCE_S:
                relay.lose(f"its worker {relay.label} is silent")
            if relay.why_lost is not None and not future.done():
                future.cancel()
                raise HostGone(f"{host}: {relay.why_lost}")
            try:
                return future.result(LOOK_S)
            except TimeoutError:
                continue
            except (CancelledError, Exception) as error:
                raise HostGone(f"{host}: {relay_room.loss(relay.label, error)}") from None


CONNECT_S = 20.0
"""Time for the scheduler to answer, and for the first worker to be there."""
LOCAL_MOST = 64
OF_CLIENT = {"timeout": CONNECT_S, "set_as_default": False, "direct_to_workers": False}


def cluster_address(words: str, *, insecure: bool = False) -> str:
    """The workers in ``tls://HOST:PORT``, ``tcp://HOST:PORT``, ``local:N`` or ``dask`` (that of
    dask's own configuration), in one of the first three forms.

    UsageError for other words, and for tcp:// to another machine unless ``insecure``: whoever
    reaches such a scheduler can run programs as the account of each worker.
    """
    local = re.fullmatch(r"local:([0-9]{1,3})", words)
    if local and 1 <= int(local[1]) <= LOCAL_MOST:
        return f"local:{int(local[1])}"
    if words == "dask":
        _need()
        import dask.config

        # From DASK_SCHEDULER_ADDRESS or ~/.config/dask.
        words = str(dask.config.get("scheduler-address", None) or "")
        if not words:
            raise UsageError(
                "--cluster dask: dask's configuration names no scheduler; set "
                "DASK_SCHEDULER_ADDRESS"
            )
    scheduler = re.fullmatch(r"(tls|tcp)://(\[[0-9a-fA-F:.]+\]|[^\s:/\[\]@]+):([0-9]{1,5})", words)
    if scheduler is None or not 1 <= int(scheduler[3]) <= 65535:
        raise UsageError(
            f"--cluster {words}: neither tls://HOST:PORT, nor local:N with N from 1 to "
            f"{LOCAL_MOST}, nor dask"
        )
    host = scheduler[2].strip("[]")
    is_loopback = host == "localhost"
    with suppress(ValueError):
        is_loopback = ipaddress.ip_address(host).is_loopback
    if scheduler[1] == "tcp" and not insecure and not is_loopback:
        raise UsageError(
            f"--cluster {words}: without TLS, whoever reaches the scheduler can run programs on "
            "every worker; use tls:// (docs/how-to/sites.md), or --insecure in a closed network"
        )
    return words


@contextmanager
def controllers_at(address: str) -> Iterator[Controllers]:
    """The controllers until the context ends. HostError, UsageError without dask."""
    _need()
    local_workers = int(address.removeprefix("local:")) if address.startswith("local:") else 0
    with ExitStack() as stack:
        if local_workers:
            client = stack.enter_context(_local(local_workers, stack))
        else:
            client = _client(address)
        controllers = Controllers(client, address)
        stack.callback(controllers.close)
        try:
            client.wait_for_workers(local_workers or 1, timeout=CONNECT_S)
        except Exception:
            raise HostError(f"the scheduler {address} has no worker: start `dask worker`") from None
        yield controllers


def _need() -> None:
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise UsageError(
            "--cluster needs dask.distributed; install it with: "
            "pip install 'netlab-matrix[cluster]'"
        ) from None
    # What happens to workers and to the scheduler, netlab says itself, in one line each.
    for name in ("distributed", "distributed.client", "distributed.core", "tornado.application"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def _client(scheduler: str) -> distributed.Client:
    import distributed

    options: dict[str, Any] = {}
    if scheduler.startswith("tls://"):
        from distributed.security import Security

        # The certificates are those of dask's configuration.
        security = options["security"] = Security(require_encryption=True)
        if not (security.tls_ca_file and security.tls_client_cert):
            raise UsageError(
                "--cluster tls://…: dask's configuration names no certificates; set "
                "DASK_DISTRIBUTED__COMM__TLS__CA_FILE and "
                "DASK_DISTRIBUTED__COMM__TLS__CLIENT__CERT"
            )
    try:
        return distributed.Client(scheduler, **OF_CLIENT, **options)
    except (OSError, RuntimeError, ValueError) as error:
        raise HostError(
            f"the scheduler {scheduler} does not answer: {relay_room.first_line(error)}"
        ) from None


def _local(workers: int, stack: ExitStack) -> distributed.Client:
    """A scheduler and workers on this machine, closed to its other users by TLS."""
    import dask.config
    import distributed
    from distributed.security import Security

    settings = {
        "distributed.scheduler.allowed-failures": 0,
        "distributed.scheduler.http.routes": [],
        "distributed.worker.http.routes": [],
    }
    stack.enter_context(dask.config.set(settings))
    cluster = stack.enter_context(
        distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            protocol="tls://",
            security=Security.temporary(),
            dashboard_address=None,
            worker_dashboard_address=None,
            silence_logs=logging.CRITICAL,
        )
    )
    return distributed.Client(cluster, **OF_CLIENT)
