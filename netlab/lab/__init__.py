"""The virtual lab: Linux hosts in network namespaces of this machine, and a cable between them.

What it cannot show stands in docs/lab.md.
"""

from netlab.lab.life import LabState, down, status, up
from netlab.lab.plan import LabOptions
from netlab.lab.programs import Missing, missing_packages

__all__ = ["LabOptions", "LabState", "Missing", "down", "missing_packages", "status", "up"]
