"""A host without an agent may run the server of another tool."""

from __future__ import annotations

from pathlib import Path

import pytest

from netlab.config.inventory import load_inventory
from netlab.errors import MatrixError, UsageError
from netlab.experiment.hosts import Inventory, Service

HOSTS = """\
hosts:
  nas: {os: X, serves: {iperf3: "192.0.2.5:5999", netperf: 192.0.2.5}}
  six: {os: X, serves: {iperf3: "[2001:db8::5]:5201", nuttcp: "[2001:db8::5]"}}
  desk: {ssh: lab@198.51.100.7, os: L, address: 192.0.2.7}
"""


def inventory(folder: Path, text: str = HOSTS) -> Inventory:
    (folder / "hosts.yaml").write_text(text)
    return load_inventory(folder / "hosts.yaml")


def test_a_tool_server_without_a_stated_port_has_the_default_port_of_its_tool(
    tmp_path: Path,
) -> None:
    hosts = inventory(tmp_path)
    assert hosts.host("nas").serves == {
        "iperf3": Service("192.0.2.5", 5999),
        "netperf": Service("192.0.2.5", 12865),
    }
    assert hosts.host("six").serves == {
        "iperf3": Service("2001:db8::5", 5201),
        "nuttcp": Service("2001:db8::5", 5000),
    }


def test_a_host_with_only_tool_servers_runs_no_agent_and_is_never_the_client(
    tmp_path: Path,
) -> None:
    hosts = inventory(tmp_path)
    assert not hosts.host("nas").has_agent
    assert [server.name for server, _ in hosts.candidates("XL")] == ["nas", "six"]
    assert hosts.candidates("LX") == ()
    with pytest.raises(UsageError, match="nas only serves: it runs no agent, and cannot be the"):
        hosts.pair("desk+nas")
    with pytest.raises(UsageError, match="nas only serves, and runs no probe"):
        hosts.observing(["nas"])


def test_a_host_with_only_tool_servers_has_the_address_of_its_tool_servers(tmp_path: Path) -> None:
    hosts = inventory(tmp_path)
    assert hosts.host("nas").address("any") == "192.0.2.5"
    assert hosts.host("six").address(None, 6) == "2001:db8::5"
    with pytest.raises(UsageError, match=r"nas has no IPv6 address: it serves at 192\.0\.2\.5"):
        hosts.host("nas").address(None, 6)


@pytest.mark.parametrize(
    ("serves", "message"),
    [
        ("{iperf: 192.0.2.5}", "'iperf' is not one of the tools iperf3, iperf2, netperf, nuttcp"),
        ("{iperf3: 192.0.2.5:99999}", "99999 is not a port"),
        ("{iperf3: 192.0.2.5:0}", "0 is not a port"),
        ("{iperf3: nas.local}", "'nas.local' is not an IP address"),
        ("{iperf3: 2001:db8::5}", "is not ADDRESS:PORT, such as 192.0.2.5:5201 (IPv6: [ADDRESS])"),
        ("{}", "should name a tool and its server"),
        ("iperf3", "should name a tool and its server"),
    ],
)
def test_an_invalid_tool_server_of_a_host_is_refused_at_its_place(
    tmp_path: Path, serves: str, message: str
) -> None:
    with pytest.raises(MatrixError) as error:
        inventory(tmp_path, f"hosts:\n  nas: {{os: X, serves: {serves}}}\n")
    (fault,) = error.value.faults
    assert (fault.line, fault.path) == (2, "hosts.nas.serves")
    assert message in fault.message


def test_an_ssh_login_for_a_host_with_only_tool_servers_is_refused(tmp_path: Path) -> None:
    text = "hosts:\n  nas: {os: X, serves: {iperf3: 192.0.2.5}, ssh: somebody}\n"
    with pytest.raises(MatrixError, match="a host that only serves runs no agent and has no login"):
        inventory(tmp_path, text)
