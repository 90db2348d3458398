"""netlab reads, compares and restores the settings of a host that it knows."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.experiment.variants import KNOWN, OfEach, recognized

# What the programs print: ethtool 6.1 and sysctl of procps-ng 4.0 on Debian 12.
FEATURES = """\
Features for test:
rx-checksumming: on
tx-checksumming: on
\ttx-checksum-ipv4: off [fixed]
\ttx-checksum-ip-generic: on
scatter-gather: on
\ttx-scatter-gather: on
tcp-segmentation-offload: off
\ttx-tcp-segmentation: off [requested on]
generic-segmentation-offload: on
generic-receive-offload: off
"""
COALESCING = """\
Coalesce parameters for eth0:
Adaptive RX: off  TX: on
stats-block-usecs: n/a
rx-usecs: 3
rx-frames: n/a
tx-usecs: 0
"""
LINK = (
    "2: test@if9: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue state UP mode DEFAULT\\"
    "    link/ether 02:00:00:00:00:01 brd ff:ff:ff:ff:ff:ff"
)

words = st.text(st.sampled_from("abc019.-"), min_size=1, max_size=6)


def test_offloads_are_read_and_restored_by_their_short_and_long_names() -> None:
    offloads = KNOWN["offloads"]
    state = offloads.read(FEATURES)
    assert (state["tso"], state["gso"], state["tx-checksum-ipv4"]) == ("off", "on", "off")
    assert offloads.is_reached({"gso": "on", "tcp-segmentation-offload": "off"}, state)
    assert not offloads.is_reached({"gso": "on", "gro": "on"}, state)
    assert offloads.restore({"gso": "off", "tcp-segmentation-offload": "on"}, state) == (
        ("ethtool", "-K", "{interface}", "gso", "on", "tso", "off"),
    )
    with pytest.raises(ValueError, match="the host has no lro"):
        offloads.restore({"lro": "on"}, state)


def test_a_coalescing_setting_that_the_interface_lacks_is_refused() -> None:
    coalescing = KNOWN["coalescing"]
    state = coalescing.read(COALESCING)
    assert coalescing.restore({"rx-usecs": "0", "adaptive-tx": "off"}, state) == (
        ("ethtool", "-C", "{interface}", "rx-usecs", "3", "adaptive-tx", "on"),
    )
    with pytest.raises(ValueError, match="the interface has no rx-frames"):
        coalescing.restore({"rx-frames": "1"}, state)


def test_an_mtu_is_read_from_the_line_of_the_interface_and_restored() -> None:
    state = KNOWN["mtu"].read(LINK)
    assert state == {"mtu": "1500"}
    assert KNOWN["mtu"].restore({"mtu": "9000"}, state) == (
        ("ip", "link", "set", "dev", "{interface}", "mtu", "1500"),
    )


@given(st.dictionaries(words, st.lists(words, min_size=1, max_size=3), min_size=1, max_size=4))
def test_sysctl_values_are_read_compared_and_restored(
    lists: dict[str, list[str]],
) -> None:
    sysctl = KNOWN["sysctl"]
    printed = "".join(f"{name} = {chr(9).join(values)}\n" for name, values in lists.items())
    state = sysctl.read(printed)
    wanted = {name: " ".join(values) for name, values in lists.items()}
    assert sysctl.is_reached(wanted, state)
    assert not sysctl.is_reached(wanted | {next(iter(wanted)): "other"}, state)
    (command,) = sysctl.restore(dict.fromkeys(wanted, "new"), state)
    assert recognized(command) == ("sysctl", wanted)


@given(st.sampled_from(["offloads", "coalescing", "mtu", "sysctl"]), st.data())
def test_a_command_of_a_known_setting_is_recognized_with_its_values(
    name: str, data: st.DataObject
) -> None:
    value = st.sampled_from(["on", "off", "3", "1500"])
    names = st.just("mtu") if name == "mtu" else words
    wanted = data.draw(st.dictionaries(names, value, min_size=1, max_size=1))
    assert recognized(KNOWN[name].enter(wanted)) == (name, wanted)


@pytest.mark.parametrize(
    "command",
    [
        ("ethtool", "-K", "eth0", "gso", "off"),
        ("ethtool", "-G", "{interface}", "rx", "64"),
        ("ethtool", "-K", "{interface}", "gso"),
        ("sysctl", "net.ipv4.tcp_ecn"),
        ("sysctl", "-w"),
        ("sysctl", "-p", "a=b"),
        ("ip", "link", "set", "{interface}", "up"),
        ("ip", "link", "set", "{interface}", "mtu", "1500", "up"),
        ("sh", "-c", "sysctl -w a=b"),
    ],
)
def test_another_command_is_not_recognized_as_a_known_setting(command: tuple[str, ...]) -> None:
    assert recognized(command) is None


# The settings with one file each, with the same commands on files of the test.


def run(command: tuple[str, ...]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout


@pytest.mark.lab
@given(st.lists(st.sampled_from(["performance", "powersave", "schedutil"]), max_size=130))
def test_governors_are_set_and_each_is_restored_to_the_value_found(values: list[str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        cpus = Path(name)
        file = f"{cpus}/cpu$n/cpufreq/scaling_governor"
        governors = OfEach("governor", f"{cpus}/cpu[0-9]*", file)
        (cpus / "cpufreq").mkdir()
        (cpus / f"cpu{len(values)}").mkdir()  # offline: it has no governor
        for number, value in enumerate(values):
            cpu = cpus / f"cpu{number}/cpufreq"
            cpu.mkdir(parents=True)
            (cpu / "scaling_governor").write_text(f"{value}\n")
        wanted = {"governor": "performance"}
        before = governors.read(run(governors.check(wanted)))
        assert before == {str(number): value for number, value in enumerate(values)}
        assert governors.is_reached(wanted, before) == (set(values) == {"performance"})
        if not values:
            with pytest.raises(ValueError, match="the host has no governor to set"):
                governors.restore(wanted, before)
            return
        run(governors.enter(wanted))
        assert governors.is_reached(wanted, governors.read(run(governors.check(wanted))))
        for command in governors.restore(wanted, before):
            assert len(command) <= 64
            run(command)
        assert governors.read(run(governors.check(wanted))) == before


@pytest.mark.lab
def test_a_governor_file_that_cannot_be_written_fails_the_command(tmp_path: Path) -> None:
    (tmp_path / "cpu0" / "scaling_governor").mkdir(parents=True)
    governors = OfEach("governor", f"{tmp_path}/cpu[0-9]*", f"{tmp_path}/cpu$n/scaling_governor")
    with pytest.raises(subprocess.CalledProcessError):
        run(governors.enter({"governor": "performance"}))


def test_cpu_lists_of_interrupts_are_compared_by_their_cpus_and_restored_one_by_one() -> None:
    interrupts = KNOWN["interrupts"]
    state = interrupts.read("24 0-2\n25 0,1,2\n\nnoise\n")
    assert state == {"24": "0-2", "25": "0,1,2"}
    assert interrupts.is_reached({"interrupts": "0-2"}, state)
    assert not interrupts.is_reached({"interrupts": "0-3"}, state)
    assert not interrupts.is_reached({"interrupts": "0-3"}, {})
    assert [command[4:] for command in interrupts.restore({"interrupts": "3"}, state)] == [
        ("0-2", "24"),
        ("0,1,2", "25"),
    ]
    assert interrupts.enter({"interrupts": "3"})[-2:] == ("3", "{interface}")


@pytest.mark.lab
def test_the_loopback_interface_has_no_interrupts_to_check() -> None:
    check = KNOWN["interrupts"].check({"interrupts": "3"})
    assert run((*check[:-1], "lo")) == ""
