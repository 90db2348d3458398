"""The probe needs nothing of its host but a kernel: no library, no shell, no /proc, no /dev.

It measures in a folder where nothing else is, and says what it cannot read by leaving it out.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from netprobe_agents import Agent, build, trial
from round_trip_peers import done
from runners import script

pytestmark = [pytest.mark.needs("root"), pytest.mark.alone]


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """What starts the probe with that folder for its root, as an account without rights."""
    root = tmp_path / "root"
    root.mkdir()
    shutil.copy2(build(), root / "netprobe")
    tmp_path.chmod(0o755)
    return script(tmp_path / "netprobe", "chroot", "--userspec=31999:31999", str(root), "/netprobe")


def test_streams_round_trips_and_connections_run_in_a_root_file_system_with_only_the_probe(
    bare: Path, record_property: Callable[[str, object], None]
) -> None:
    with Agent(bare) as first_agent, Agent(bare) as second_agent:
        agents = (first_agent, second_agent)
        hello = first_agent.ask("hello")
        assert {"stream", "tcp", "udp", "round_trip", "connect"} <= set(
            hello["capabilities"].split(",")
        )
        assert "machine_id" not in hello
        assert first_agent.ask("facts", to="127.0.0.1")["route_interface"] == "lo"
        assert first_agent.ask("lock", owner="nobody")["type"] in ("lock", "error")
        ran = 0
        for protocol in ("tcp", "udp"):
            outcome = trial(agents, proto=protocol, seconds=0.3, message=1000, message_rate=2000)
            assert outcome.received["throughput_bit_per_s"] > 0
            assert outcome.received["interface"] == "lo"
            answered = done(
                agents, proto=protocol, message=64, seconds=0.3, ask={"message_rate": 300}
            )
            assert answered.asked["transactions"] > 30
            ran += 2
        assert done(agents, kind="connect", message=64, count=30).asked["transactions"] == 30
    record_property("figure", f"{ran + 1} of {ran + 1} kinds measured in an empty root")
    record_property("n", ran + 1)
