"""The states of the hosts' own settings during one session of a run."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field

from netlab.errors import ProbeError
from netlab.experiment.cells import Cell
from netlab.experiment.records import Status, Value
from netlab.experiment.variants.variant import Variants, changes_mtu, chosen
from netlab.measurement.common_window import CommonWindow
from netlab.measurement.ends import Ends
from netlab.measurement.rendezvous import Participant
from netlab.measurement.variants.entered import HostStates
from netlab.measurement.variants.host_state import NOT_REACHED
from netlab.runner.skip_reasons import PATH_MTU, Unmeasured


@dataclass(frozen=True, slots=True)
class Entered:
    """How a trial's hosts were brought into its state."""

    values: Mapping[str, Value] = field(default_factory=dict)
    """What the checks printed, for the record of the trial."""
    obstacle: Unmeasured | None = None
    """Why the state was not reached, so that the trial is not measured."""


@dataclass(frozen=True, slots=True)
class Around:
    """What a trial shares with others, or needs of them."""

    window: CommonWindow | None
    """The window of all trials of the round."""
    participant: Participant | None
    """How its hosts take part in a search of several pairs."""
    entered: Future[Entered] | None
    """How its hosts were brought into its state; ``None``: the matrix has no variants."""

    def state(self) -> Entered:
        """The outcome for the hosts' state. Raises what entering it raised, such as HostGone."""
        return Entered() if self.entered is None else self.entered.result()


class SessionStates:
    """Brings hosts into the states that trials need, and puts them back at the end."""

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
        """A reason not to measure a cell, unless the state of its hosts may have removed it.

        The path MTU was measured before any state was entered. It depends on the MTU of the
        interfaces.
        """
        is_path_mtu = obstacle is not None and obstacle.reason == PATH_MTU
        if is_path_mtu and changes_mtu(chosen(self._variants, cell.setup.variant)):
            return None
        return obstacle

    def restore(self) -> list[str]:
        """Put all hosts back; returns a warning for each that could not be put back."""
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
