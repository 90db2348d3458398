"""The inventory that a matrix is measured with, checked against the needs of the matrix."""

from __future__ import annotations

from pathlib import Path

from netlab.config.echoes import refuse_what_echoes_lack
from netlab.config.inventory import load_inventory
from netlab.config.unknown_hosts import refuse_unknown_hosts
from netlab.experiment.hosts import Inventory
from netlab.experiment.matrix import Matrix


def inventory_for(matrix: Matrix, file: Path) -> Inventory:
    """The inventory in ``file``, which may be the matrix itself.

    Raises MatrixError for hosts that the inventory lacks and for settings that an echo cannot have.
    Raises UsageError if the inventory cannot be read, or if an observed host has no agent.
    """
    inventory = load_inventory(file)
    refuse_unknown_hosts(matrix, inventory)
    inventory = inventory.observing(matrix.observe)
    refuse_what_echoes_lack(matrix, inventory)
    return inventory
