"""The tools that netlab can measure with, by their names in the setting ``engine``. No I/O.

To add a tool, add a file here, its constant to ``TOOLS``, and its name to the setting ``engine``.
"""

from __future__ import annotations

from collections.abc import Mapping

from netlab.measurement.tools.iperf2 import IPERF2
from netlab.measurement.tools.iperf3 import IPERF3
from netlab.measurement.tools.neper import NEPER
from netlab.measurement.tools.netperf import NETPERF
from netlab.measurement.tools.nuttcp import NUTTCP
from netlab.measurement.tools.sockperf import SOCKPERF
from netlab.measurement.tools.tool import Tool

TOOLS: Mapping[str, Tool] = {
    tool.name: tool for tool in (IPERF3, IPERF2, NETPERF, NUTTCP, SOCKPERF, NEPER)
}
