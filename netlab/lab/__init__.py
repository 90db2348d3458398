"""The virtual lab: hosts in network namespaces of this machine, and cables between them.

docs/lab.md describes its limits.
"""

from netlab.lab.life import LabState, broken_pieces, down, status, up
from netlab.lab.plan import LabOptions, linux_of
from netlab.lab.programs import LabNeed, examine, missing_programs

__all__ = [
    "LabNeed",
    "LabOptions",
    "LabState",
    "broken_pieces",
    "down",
    "examine",
    "linux_of",
    "missing_programs",
    "status",
    "up",
]
