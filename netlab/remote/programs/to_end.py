"""Runs a short program, such as a command of the user, on a host and waits for its end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from netlab.errors import ProbeError
from netlab.remote.agent import Agent
from netlab.remote.programs.program import STANDARD_ERROR, Program


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended, and what it printed."""

    exit_code: int | None
    """``None`` if a signal or its deadline ended it, or if its system does not report it."""
    signal: int | None
    """The signal that ended it, unless its deadline did."""
    killed: bool
    """Whether its deadline ended it."""
    text: str
    """What it printed to its standard output."""
    errors: str
    """What it printed to its standard error."""
    is_cut: bool
    """Whether a part of the output was discarded; always false for a killed program (unknown)."""


def run_to_end(agent: Agent, words: Sequence[str], deadline_s: float) -> Ended:
    """Run a program on a host and wait for its end; its agent kills it at its deadline.

    Raises ProbeError, for example ``program-missing``, and HostGone.
    """
    program = Program.start(agent, words, deadline_s)
    killed = ended_by_deadline(program)
    result = program.result or {}
    return Ended(
        exit_code=result.get("exit_code"),
        signal=result.get("signal"),
        killed=killed,
        text=program.text(),
        errors=program.text(STANDARD_ERROR),
        is_cut=program.is_cut,
    )


def ended_by_deadline(program: Program) -> bool:
    """Wait for its end. Returns whether its deadline ended it. Raises as ``Program.wait``."""
    try:
        program.wait()
    except ProbeError as error:
        if error.word == "deadline":
            return True
        program.abort()
        raise
    except BaseException:
        program.abort()
        raise
    return False
