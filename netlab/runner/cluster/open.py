"""Opens a cluster from the words of `--cluster`: the address of a scheduler, or workers here."""

from __future__ import annotations

import ipaddress
import logging
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from netlab.errors import HostError, UsageError
from netlab.runner.cluster.relay import first_line

if TYPE_CHECKING:
    import distributed

    from netlab.runner.cluster.controllers import Controllers

CONNECT_S = 20.0
"""Time for the scheduler to answer, and for the first worker to be there."""
LOCAL_MOST = 64


@dataclass(frozen=True, slots=True)
class ClusterAddress:
    """Where the workers of a run are."""

    scheduler: str | None
    """``tls://HOST:PORT`` or ``tcp://HOST:PORT``; ``None``: dask's own configuration names it."""
    local_workers: int = 0
    """Number of workers to start on this machine instead."""

    def __str__(self) -> str:
        if self.local_workers:
            return f"local:{self.local_workers}"
        return self.scheduler or "dask"


def cluster_address(words: str, *, insecure: bool = False) -> ClusterAddress:
    """The address in ``tls://HOST:PORT``, ``tcp://HOST:PORT``, ``local:N`` or ``dask``.

    UsageError for other words, and for tcp:// to another machine unless ``insecure``: whoever can
    reach such a scheduler can run programs as the account of each worker.
    """
    local = re.fullmatch(r"local:([0-9]{1,3})", words)
    if local and 1 <= int(local[1]) <= LOCAL_MOST:
        return ClusterAddress(None, int(local[1]))
    if words == "dask":
        return ClusterAddress(_configured(insecure=insecure))
    return ClusterAddress(_checked(words, insecure=insecure))


def _checked(words: str, *, insecure: bool) -> str:
    scheduler = re.fullmatch(r"(tls|tcp)://(\[[0-9a-fA-F:.]+\]|[^\s:/\[\]@]+):([0-9]{1,5})", words)
    if scheduler is None or not 1 <= int(scheduler[3]) <= 65535:
        raise UsageError(
            f"--cluster {words}: neither tls://HOST:PORT, nor local:N with N from 1 to "
            f"{LOCAL_MOST}, nor dask"
        )
    if scheduler[1] == "tcp" and not insecure and not _is_loopback(scheduler[2].strip("[]")):
        raise UsageError(
            f"--cluster {words}: without TLS, whoever reaches the scheduler can run programs on "
            "every worker; use tls:// (docs/how-to/sites.md), or --insecure in a closed network"
        )
    return words


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _configured(*, insecure: bool) -> str:
    """The scheduler of dask's configuration (DASK_SCHEDULER_ADDRESS, ~/.config/dask)."""
    _need()
    import dask.config

    address = dask.config.get("scheduler-address", None)
    if not address:
        raise UsageError(
            "--cluster dask: dask's configuration names no scheduler; set DASK_SCHEDULER_ADDRESS"
        )
    return _checked(str(address), insecure=insecure)


@contextmanager
def controllers_at(address: ClusterAddress) -> Iterator[Controllers]:
    """The controllers of a cluster, until the context ends. HostError if it does not answer,
    UsageError if dask is not installed or has no certificates.
    """
    _need()
    with ExitStack() as stack:
        client = _client(address, stack)
        from netlab.runner.cluster.controllers import Controllers

        controllers = Controllers(client, str(address))
        stack.callback(controllers.close)
        try:
            client.wait_for_workers(address.local_workers or 1, timeout=CONNECT_S)
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


def _client(address: ClusterAddress, stack: ExitStack) -> distributed.Client:
    import distributed

    if address.local_workers:
        return stack.enter_context(_local(address.local_workers, stack))
    scheduler = str(address.scheduler)
    options: dict[str, Any] = {}
    if scheduler.startswith("tls://"):
        options["security"] = _security()
    try:
        client = distributed.Client(
            scheduler,
            timeout=CONNECT_S,
            set_as_default=False,
            direct_to_workers=False,
            **options,
        )
    except (OSError, RuntimeError, ValueError) as error:
        raise HostError(f"the scheduler {address} does not answer: {first_line(error)}") from None
    return client


def _security() -> distributed.security.Security:
    """TLS with the certificates of dask's configuration."""
    from distributed.security import Security

    security = Security(require_encryption=True)
    if not (security.tls_ca_file and security.tls_client_cert):
        raise UsageError(
            "--cluster tls://…: dask's configuration names no certificates; set "
            "DASK_DISTRIBUTED__COMM__TLS__CA_FILE and DASK_DISTRIBUTED__COMM__TLS__CLIENT__CERT"
        )
    return security


def _local(workers: int, stack: ExitStack) -> distributed.Client:
    """A scheduler and workers on this machine, closed to its other users by TLS."""
    import dask.config
    import distributed
    from distributed.security import Security

    stack.enter_context(
        dask.config.set(
            {
                "distributed.scheduler.allowed-failures": 0,
                "distributed.scheduler.http.routes": [],
                "distributed.worker.http.routes": [],
            }
        )
    )
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
    return distributed.Client(
        cluster, timeout=CONNECT_S, set_as_default=False, direct_to_workers=False
    )
