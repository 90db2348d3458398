"""From two hosts' names to a run folder that holds the answer."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from netlab.errors import IncompleteRun
from netlab.experiment.matrix import Link
from netlab.runner.asked import Options, to_go_on
from netlab.runner.hosts.agent_group import AgentGroup
from netlab.runner.progress import Progress
from netlab.runner.run import run
from netlab.runner.start.ask import Asked, Choose, ask, hosts_named
from netlab.runner.start.question import Question, matrix_text


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


@dataclass(frozen=True, slots=True)
class Measurable:
    """A question whose hosts were found."""

    ends: Asked
    matrix: str
    """That asks it of them."""
    agents: AgentGroup

    def measure(self, into: Path | None, progress: Progress) -> Path:
        """The run folder, which holds the matrix from then on.

        Raises what ``netlab run`` does. A trial without a result is there with its reason.
        """
        with tempfile.TemporaryDirectory(prefix="netlab-") as beside:
            file = Path(beside) / "measure.yaml"
            file.write_text(self.matrix, encoding="utf-8")
            options = Options(matrix=file, into=into, patience_s=0.0)
            return run(options, progress, self.agents).folder


def without_result(folder: Path) -> IncompleteRun:
    """What a question whose trials all failed ends with."""
    return IncompleteRun(f"there is no result; to try again: {to_go_on(folder)}")


@contextmanager
def found(
    question: Question, between: Between, choose: Choose, say: Callable[[str], None]
) -> Iterator[Measurable]:
    """The question with its hosts, which stay logged in to until it is left."""
    server, client = hosts_named(between.hosts, between.inventory)
    with AgentGroup(say) as agents:
        ends = ask(
            agents, server, client, to=between.to, ip_version=between.ip_version, choose=choose
        )
        link = between.link or ends.link
        text = matrix_text(question, ends.server, ends.client, link, ends.ip_version)
        yield Measurable(ends, text, agents)
