"""The settings of ``throughput_search`` are read from a matrix, and impossible ones are refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from folders import ROOT

from netlab.config.matrix_file import load_matrix
from netlab.errors import MatrixError, UsageError
from netlab.ethernet import Link
from netlab.experiment.hosts import Host, Inventory
from netlab.experiment.matrix import expand
from netlab.kinds import ThroughputSearch

HEAD = "title: t\npairings: [LL]\ntests:\n  - test: throughput_search\n"


def written(tmp_path: Path, text: str) -> tuple[ThroughputSearch, ...]:
    file = tmp_path / "m.yaml"
    file.write_text(HEAD + text)
    setups = [cell.setup for cell in expand(load_matrix(file))]
    return tuple(setup for setup in setups if isinstance(setup, ThroughputSearch))


def test_a_throughput_search_has_the_values_of_the_standard_by_default(tmp_path: Path) -> None:
    (setup,) = written(tmp_path, "    frame_size: 64\n")
    assert setup == ThroughputSearch(frame_bytes=64)
    assert (setup.protocol, setup.duration_s, setup.residual_s, setup.settle_s) == (
        "UDP",
        60.0,
        2.0,
        5.0,
    )
    assert (setup.acceptable_loss, setup.resolution) == (0.0, 0.005)
    assert setup.window_s() is None
    (cell,) = expand(load_matrix(tmp_path / "m.yaml"))
    assert cell.key.startswith("LL-throughput_search-udp-64-auto-")
    # Two trials at line rate, 0.1 s before each, and the pause between them.
    assert cell.setup.least_s(Link(1e9, 1500, vlan=False)) == 2 * 60.1 + 5


def test_every_setting_of_a_throughput_search_is_read_from_a_matrix(tmp_path: Path) -> None:
    text = (
        "    frame_size: [128, 1518]\n    duration: 20s\n    search_duration: 2s\n"
        "    direction: both\n    streams: 4\n    acceptable_loss: 0.001 %\n    resolution: 1 %\n"
        "    line_rate: 1Gbit\n    residual: 500ms\n    settle: 0s\n    ip: 6\n    burst: 64\n"
        "    socket_buffer: 4MiB\n    dscp: 46\n    interface: eth1\n    receive: spinning\n"
        "    network: test\n    protocol: UDP\n    frame_loss: true\n"
        "    latency: true\n    back_to_back: 50\n"
    )
    first, second = written(tmp_path, text)
    assert (first.frame_bytes, second.frame_bytes) == (128, 1518)
    assert first == ThroughputSearch(
        frame_bytes=128,
        duration_s=20.0,
        search_duration_s=2.0,
        direction="both",
        streams=4,
        burst=64,
        acceptable_loss=0.00001,
        resolution=0.01,
        line_rate_bit_per_s=1e9,
        residual_s=0.5,
        settle_s=0.0,
        ip_version=6,
        socket_buffer_bytes=4 << 20,
        dscp=46,
        interface="eth1",
        receive="spinning",
        network="test",
        frame_loss=True,
        latency=True,
        back_to_back=50,
    )


def test_parallel_pairings_of_named_hosts_may_run_their_throughput_searches_together(
    tmp_path: Path,
) -> None:
    text = "    frame_size: [64, 128]\n    together: [false, true]\nparallel: true\n"
    head = HEAD.replace("[LL]", "[a+b, c+d]")
    (tmp_path / "m.yaml").write_text(head + text)
    setups = [cell.setup for cell in expand(load_matrix(tmp_path / "m.yaml"))]
    assert [setup.is_together for setup in setups] == 4 * [False, True]


def test_a_throughput_search_has_no_settings_for_tests_that_are_not_requested(
    tmp_path: Path,
) -> None:
    (setup,) = written(tmp_path, "    frame_size: 64\n    latency: false\n")
    assert setup == ThroughputSearch(frame_bytes=64)
    assert not {"latency", "back_to_back"} & setup.settings().keys()


def test_observed_hosts_are_read_and_are_no_part_of_the_matrix_content(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(HEAD + "    frame_size: 64\n")
    (tmp_path / "b.yaml").write_text(HEAD + "    frame_size: 64\nobserve: [dut, switch.lab]\n")
    plain, observing = (load_matrix(tmp_path / name) for name in ("a.yaml", "b.yaml"))
    assert (plain.observe, observing.observe) == ((), ("dut", "switch.lab"))
    assert plain.content_hash == observing.content_hash


def test_a_pairing_includes_an_observed_host_only_if_the_pairing_names_the_host() -> None:
    hosts = tuple(Host(name=name, os="L", local=True) for name in ("a", "dut", "b"))
    inventory = Inventory("hosts.yaml", hosts, {}).observing(["dut"])
    server, client = inventory.pair("LL")
    assert (server.name, client.name) == ("a", "b")
    assert inventory.every_pairing(None, inside=False) == ("a+b", "b+a")
    assert inventory.pair("dut+a")[0].name == "dut"
    with pytest.raises(UsageError, match="no host is called 'nobody'"):
        inventory.observing(["nobody"])


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("    frame_size: 64\n    ip: 6\n", "has no room for IPv6 and UDP; at least 66 bytes"),
        ("    frame_size: 64\n    receive: adaptive\n", "the trials of a search have none"),
        (
            "    frame_size: 80\n    ip: 6\n",
            "no room for a sequence number; a frame needs 82 bytes",
        ),
        ("    frame_size: 63\n", "63 should be at least 64"),
        ("    frame_size: 64\n    protocol: TCP\n", "TCP chooses its own rate"),
        ("    frame_size: 64\n    resolution: 11 %\n", "is too much; at most 10 %"),
        ("    frame_size: 64\n    acceptable_loss: 0.5\n", "is not a percentage"),
        (
            "    frame_size: 64\n    message_size: 18\n",
            "not a setting of a `throughput_search` test",
        ),
        ("    duration: 1s\n", "the test has no `frame_size`"),
        ("    frame_size: 64\n    together: true\n", "together: needs `parallel: true` in"),
        (
            "    frame_size: 64\n    together: [false, true]\nparallel: true\n",
            "together: needs two pairings by name, such as [a+b, c+d]",
        ),
    ],
)
def test_an_impossible_throughput_search_is_refused_with_a_reason(
    tmp_path: Path, text: str, fault: str
) -> None:
    with pytest.raises(MatrixError) as excinfo:
        written(tmp_path, text)
    assert fault in str(excinfo.value)


def test_the_matrix_rfc2544_has_seven_frame_sizes_in_one_direction_and_in_both() -> None:
    cells = expand(load_matrix(ROOT / "matrices" / "rfc2544.yaml"))
    setups = [cell.setup for cell in cells]
    assert {setup.frame_bytes for setup in setups if isinstance(setup, ThroughputSearch)} == {
        *(64, 128, 256, 512, 1024, 1280, 1518)
    }
    assert {cell.settings["direction"] for cell in cells} == {"client-sends", "both"}
    assert all(cell.settings["duration_s"] == 60 for cell in cells)
    assert len(cells) == 14
