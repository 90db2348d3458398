"""netlab's Python interface: the main commands as functions, for a notebook or a program.

Every expected error is a ``NetlabError`` (``netlab.errors``). Its message is one sentence, or one
line for each fault in a file or in the arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from netlab.errors import UsageError
from netlab.ethernet import Link
from netlab.units import parse_bytes, parse_rate

if TYPE_CHECKING:
    from netlab.report.notebook import LoadedRun
    from netlab.results.arrow.scan import Scan

    File = str | PathLike[str]
N = TypeVar("N", int, float)


def load(folder: File) -> LoadedRun:
    """Read a run folder. Raises ``UsageError`` if it is none, ``StoreError`` if it is damaged."""
    from netlab.report.notebook import LoadedRun
    from netlab.report.text.findings import in_english
    from netlab.results.run import read_checked

    return LoadedRun(read_checked(Path(folder)), in_english)


def scan(*folders: File) -> Scan:
    """The tables of run folders, and of all run folders in folders, as one lazy relation.

    It has a row per trial with the columns of ``frame``, and the column ``run`` (the run folder).
    ``scan(...).sql("SELECT … FROM runs")`` is the result of a query, and ``.df()`` makes it a
    DataFrame.

    Raises ``UsageError`` without DuckDB and pyarrow, and if a folder has no run, ``StoreError`` if
    a run is damaged.
    """
    from netlab.results.arrow.scan import scan as scan_runs

    return scan_runs([Path(folder) for folder in folders])


def measure(
    server: str | None = None,
    client: str | None = None,
    *,
    protocol: Literal["TCP", "UDP"] = "TCP",
    size: int | str | None = None,
    direction: Literal["client-sends", "server-sends", "both"] = "client-sends",
    latency: bool = False,
    seconds: float = 5.0,
    streams: int = 1,
    rate: str | None = None,
    to: str | None = None,
    ip_version: Literal[4, 6] | None = None,
    link: str | None = None,
    mtu: int = 1500,
    overhead: int = 0,
    hosts: File | None = None,
    into: File | None = None,
    quiet: bool = False,
) -> LoadedRun:
    """Measure from ``client`` to ``server``, as `netlab measure` does.

    Both are names in the inventory ``hosts``, or of the form ``user@host:port``. If only ``server``
    is given, this machine is the client. If neither is given, netlab measures within this machine.

    ``size``: message size in bytes, or as ``"64KiB"``. ``latency``: measure round trips instead of
    throughput. ``rate``: the rate to offer, such as ``"50Mbit"``. ``to``: a test address of the
    server.
    ``link`` and ``mtu``: rate and MTU of the link, if the interfaces do not report them;
    ``overhead``: bytes that a tunnel adds to each packet. ``into``: the run folder, by default a
    new one in ``runs/``. Progress is printed on standard error, one line per second, unless
    ``quiet``.

    Raises ``UsageError`` for arguments that contradict each other or leave a choice open (such as
    several common networks), ``HostError`` if a host cannot be reached, ``LockedError`` if another
    run uses a host, ``IncompleteRun`` if there is no result.
    """
    from netlab.runner import two_hosts

    question = two_hosts.Question(
        hosts=[host for host in (server, client) if host is not None],
        inventory=None if hosts is None else Path(hosts),
        to=to,
        ip_version=ip_version,
        link=None if link is None else Link(_read(parse_rate, link), mtu, overhead_bytes=overhead),
        protocol=protocol,
        message_bytes=_read(parse_bytes, size) if isinstance(size, str) else size,
        direction=direction,
        latency=latency,
        seconds=seconds,
        streams=streams,
        rate_bit_per_s=None if rate is None else _read(parse_rate, rate),
    )
    progress = two_hosts.LiveFigures(quiet=quiet)
    hosts_there = two_hosts.measurable_hosts(question, two_hosts.nobody_chooses, progress.notify)
    with hosts_there as measurable:
        folder = measurable.measure(None if into is None else Path(into), progress)
    if progress.failed:
        raise two_hosts.without_result(folder)
    return load(folder)


def _read(parse: Callable[[str], N], text: str) -> N:
    try:
        return parse(text)
    except ValueError as error:
        raise UsageError(str(error)) from None


def run(
    matrix: File,
    *,
    hosts: File | None = None,
    only: Sequence[str] = (),
    settings: Mapping[str, str] | None = None,
    into: File | None = None,
    redo: Sequence[str] = (),
    check: bool = False,
    quiet: bool = False,
) -> LoadedRun:
    """Measure the missing cells of a matrix, as `netlab run --no-report` does.

    ``matrix``: a file, or the name of a matrix that is installed with netlab. ``only`` and
    ``redo``: words as for the options `--only` and `--redo`. ``settings``: overrides as for
    `--set`, such as ``{"scale": "0.1"}``. Progress is printed on standard error, unless ``quiet``.

    Returns the run, even if some of its cells failed or are pending. If ``check`` is true, such
    cells raise ``IncompleteRun`` instead, and absent hosts raise ``HostError``.

    Raises ``MatrixError`` and ``UsageError`` for errors in files and arguments, ``HostError`` if
    nothing can be measured, ``LockedError`` if another run uses the folder or a host.
    """
    from netlab.config.matrix_file import matrix_file
    from netlab.runner.options import Options
    from netlab.runner.progress import Progress
    from netlab.runner.run import run as run_matrix

    options = Options(
        matrix=matrix_file(Path(matrix)),
        hosts=None if hosts is None else Path(hosts),
        into=None if into is None else Path(into),
        only=tuple(only),
        overrides=dict(settings or {}),
        redo=tuple(redo),
        patience_s=0.0,
    )
    progress = Progress(quiet=quiet)
    try:
        outcome = run_matrix(options, progress)
    finally:
        progress.end()
    if check:
        outcome.raise_for_status()
    return load(outcome.folder)
