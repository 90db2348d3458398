"""The states of the hosts' own settings during one session of a run.

A variant of a matrix names a state: values of settings such as the offloads of an interface. A cell
is one combination of a pairing (two hosts), a kind of test and its settings; a trial is one
execution of a cell. A round is the trials that run at the same time.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field

from netlab.errors import ProbeError
from netlab.experiment.cells import Cell
from netlab.experiment.records import Status, Value
from netlab.experiment.variants import Variants, changes_mtu, chosen
from netlab.measurement.common_window import CommonWindow
from netlab.measurement.ends import Ends
from netlab.measurement.rendezvous import Participant
from netlab.measurement.variants.entered import HostStates
from netlab.measurement.variants.host_state import NOT_REACHED
from netlab.runner.skip_reasons import PATH_MTU, Unmeasured


@dataclass(frozen=True, slots=True)
class Entered:
    """The outcome of bringing the hosts of a trial into the state that its cell names."""

    values: Mapping[str, Value] = field(default_factory=dict)
    """What the commands that check the settings printed, for the record of the trial."""
    obstacle: Unmeasured | None = None
    """Why the state was not reached, so that the trial is not measured."""


@dataclass(frozen=True, slots=True)
class Around:
    """What a trial shares with the other trials of its round, and the state of its hosts."""

    window: CommonWindow | None
    """The window (the time that is measured) of all trials of the round; ``None``: each trial has
    its own."""
    participant: Participant | None
    """How the trial's hosts take part in a search of several pairs of hosts; ``None``: they do not
    take part in such a search."""
    entered: Future[Entered] | None
    """The outcome of bringing the hosts into their state; ``None``: the matrix has no variants."""

    def state(self) -> Entered:
        """The result of ``entered``. Raises the error that ``enter`` raised, such as HostGone."""
        return Entered() if self.entered is None else self.entered.result()


class SessionStates:
    """Brings hosts into the states that trials need, and undoes the changes at the end."""

    def __init__(self, variants: Variants) -> None:
        self._variants = variants
        self._states = HostStates(variants)

    def enter(self, cell: Cell, ends: Ends) -> Entered:
        """Bring both hosts into the state that the cell names. Raises HostGone."""
        try:
            return Entered(self._states.enter(cell, ends))
        except ProbeError as error:
            detail = error.detail or error.word
            names = ends.server_name, ends.client.host.name
            sentence = f"{error.host}: {detail}"
            return Entered(obstacle=Unmeasured(Status.FAILED, NOT_REACHED, sentence, *names))

    def obstacle_left(self, obstacle: Unmeasured | None, cell: Cell) -> Unmeasured | None:
        """``obstacle``, or ``None`` if the state of the cell's hosts may have removed it.

        The state may change the MTU of an interface. The path MTU depends on this MTU, and was
        measured before the hosts were brought into any state.
        """
        is_path_mtu = obstacle is not None and obstacle.reason == PATH_MTU
        if is_path_mtu and changes_mtu(chosen(self._variants, cell.setup.variant)):
            return None
        return obstacle

    def restore(self) -> list[str]:
        """Undo the changes on all hosts; returns a warning for each host on which this failed."""
        return [
            f"{sentence}; `netlab hosts` on the inventory tries again"
            for sentence in self._states.restore()
        ]

    def left_to_agents(self) -> list[str]:
        """A sentence for each host whose settings were changed when its agent was ended."""
        return [
            f"{name}: the run ended while its settings were changed; its probe puts them back, and "
            "`netlab hosts` on the inventory says whether it could"
            for name in self._states.changed
        ]
