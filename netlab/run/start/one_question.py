"""From two hosts' names to a run folder that holds the answer."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from netlab.experiment.matrix import Link
from netlab.run.asked import Options
from netlab.run.ending import interruptible
from netlab.run.progress import Progress
from netlab.run.run import run
from netlab.run.start.ask import Asked, Choose, ask, hosts_named
from netlab.run.start.question import Question, matrix_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Between:
    """Between which hosts, and how."""

    hosts: Sequence[str]
    """Server and client, as ``ask.hosts_named`` takes them."""
    inventory: Path | None = None
    to: str | None = None
    """The server's test address."""
    ip_version: int | None = None
    link: Link | None = None
    """Of the cable, where the person says it; else as the interfaces say."""


def matrix_of(
    question: Question, between: Between, choose: Choose, say: Callable[[str], None]
) -> tuple[Asked, str]:
    """The hosts as they were found, and the matrix that asks the question of them."""
    server, client = hosts_named(between.hosts, between.inventory)
    found = ask(
        server, client, to=between.to, ip_version=between.ip_version, choose=choose, say=say
    )
    link = between.link or found.link
    return found, matrix_text(question, found.server, found.client, link, found.ip_version)


def measure(matrix: str, into: Path | None, progress: Progress) -> Path:
    """Measure the matrix of a question; the run folder, which holds it from then on.

    Raises what ``netlab run`` does. A trial without a result is there with its reason.
    """
    with tempfile.TemporaryDirectory(prefix="netlab-") as beside:
        file = Path(beside) / "measure.yaml"
        file.write_text(matrix, encoding="utf-8")
        with interruptible():
            return run(Options(matrix=file, into=into, patience_s=0.0), progress).folder
