"""The virtual lab: hosts in network namespaces of this machine, and cables between them.

docs/lab.md describes its limits.
"""

from netlab.lab.life import LabState, broken_pieces, down, status, up
from netlab.lab.plan import LabOptions, linux_of
from netlab.lab.programs import LabNeed, Missing, examine, missing_packages

__all__ = [
    "LabNeed",
    "LabOptions",
    "LabState",
    "Missing",
    "broken_pieces",
    "down",
    "examine",
    "linux_of",
    "missing_packages",
    "status",
    "up",
]
