"""Measures once between two hosts for `netlab measure`, into a run folder."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from netlab.errors import IncompleteRun
from netlab.experiment.matrix import Link
from netlab.runner.hosts.agent_group import AgentGroup
from netlab.runner.options import Options, resume_command
from netlab.runner.progress import Progress
from netlab.runner.run import run
from netlab.runner.start.ask import Choose, EndHosts, ask, hosts_named
from netlab.runner.start.question import Question, matrix_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Between:
    """The hosts to measure between, and the network between them."""

    hosts: Sequence[str]
    """Server and client, as ``ask.hosts_named`` takes them."""
    inventory: Path | None = None
    to: str | None = None
    """The server's test address."""
    ip_version: int | None = None
    link: Link | None = None
    """The link as the person states it; ``None``: as the interfaces report it."""


@dataclass(frozen=True, slots=True)
class Measurable:
    """The hosts and the matrix of a measurement that can begin."""

    ends: EndHosts
    matrix: str
    """Text of the matrix."""
    agents: AgentGroup

    def measure(self, into: Path | None, progress: Progress) -> Path:
        """Measure; returns the run folder, which then holds the matrix.

        Raises the errors of ``netlab run``. A trial without a result has a record with its reason.
        """
        with tempfile.TemporaryDirectory(prefix="netlab-") as temporary:
            file = Path(temporary) / "measure.yaml"
            file.write_text(self.matrix, encoding="utf-8")
            options = Options(matrix=file, into=into, patience_s=0.0)
            return run(options, progress, self.agents).folder


def without_result(folder: Path) -> IncompleteRun:
    """The error if all trials of the measurement failed."""
    return IncompleteRun(f"there is no result; to try again: {resume_command(folder)}")


@contextmanager
def measurable_hosts(
    question: Question, between: Between, choose: Choose, notify: Callable[[str], None]
) -> Iterator[Measurable]:
    """Find the two hosts and log in to them; the logins last until the context is left.

    ``question``: what to measure. ``choose`` and ``notify``: as in ``ask`` and ``AgentGroup``.
    """
    server, client = hosts_named(between.hosts, between.inventory)
    with AgentGroup(notify) as agents:
        ends = ask(
            agents, server, client, to=between.to, ip_version=between.ip_version, choose=choose
        )
        link = between.link or ends.link
        text = matrix_text(question, ends.server, ends.client, link, ends.ip_version)
        yield Measurable(ends, text, agents)
