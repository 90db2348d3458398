"""What a kind of test is: the one object that the packages read about it."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from netlab.kinds.groups import Setup
from netlab.messages import Message
from netlab.trial.column import THROUGHPUTS, Column, Quantity, setting_columns


@dataclass(frozen=True, kw_only=True)
class KindOfTest:
    """A kind of test. Its settings are a class, and so are the rules about a cell's settings: which
    of them are faults, how long they take, what they demand of the probes.

    A place is ``MODULE:NAME`` in the folder of the settings; the module is imported when the place
    is read, so that no command loads what it does not use.
    """

    name: Message
    settings: type[Setup]
    about: str
    """A sentence for authors of a matrix."""
    subject: str
    """What it measures, in a sentence about a run: ``the time of round trips``."""
    label: str = ""
    """Its name in the titles of a report: ``round trips``; empty: it has none."""
    quantities: Mapping[str, Quantity] = field(default_factory=dict)
    """Column → its headline figure, without the throughput of each flow."""
    summarised: tuple[str, ...] = ()
    """Further columns whose means a summary has."""
    has_flows: bool = False
    """Whether a record has a throughput for each flow."""
    expects: frozenset[str] = frozenset()
    """The subjects of expectations that it has: ``throughput``, ``round_trip`` …"""
    columns: str = ""
    """Place of its columns: name → ``Column``. Without it, it has those of its settings."""
    procedure: str = "round_trip"
    """The module of measurement/ whose ``values_of`` measures it with netlab's own probe. A
    ``round_trip`` is one request to each end, made from the settings alone: the client asks, and
    the server's mirror answers."""
    figures: tuple[str, ...] = ()
    """Values of the client's result that a record has under their own names, if the procedure is
    ``round_trip``; all others begin with ``client_`` or ``server_``."""

    def at(self, place: str) -> Any:
        """The object at a place in the kind's folder."""
        return pkgutil.resolve_name(f"{self.settings.__module__.rpartition('.')[0]}.{place}")

    def column_table(self, in_every_frame: Mapping[str, Column]) -> Mapping[str, Column]:
        """Its columns, besides those that every frame (table of a run) has."""
        if self.columns:
            columns: Mapping[str, Column] = self.at(self.columns)
            return columns
        return setting_columns(self.settings, but=in_every_frame.keys())

    def figure_columns(self) -> dict[str, Quantity]:
        """The columns of the run's table with its headline figures."""
        of_flows = {f"{flow}throughput_bit_per_s": q for flow, q in THROUGHPUTS.items()}
        return {**self.quantities, **(of_flows if self.has_flows else {})}
