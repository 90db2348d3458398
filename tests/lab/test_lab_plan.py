"""What a lab is made of, without root: names, addresses, rates, quotas; what is refused."""

from __future__ import annotations

import ipaddress
import json
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from netlab.cli import cli
from netlab.errors import HostError, UsageError
from netlab.lab import programs
from netlab.lab.life import texts_of
from netlab.lab.network import Shape, shape_of
from netlab.lab.plan import LabOptions, LabPlan, Network, make_plan, plan_from_json

NAME = "plan"


def step_bytes(shape: Shape) -> int:
    """Frames are rounded up to a multiple of this; 1: exact."""
    return (shape.table_mtu_bytes + 1) // shape.table_slots


def a_plan(routes: tuple[str, ...] = (), slots: tuple[int, ...] = (), **wish: object) -> LabPlan:
    networks: list[Network] = [ipaddress.ip_network(network) for network in routes]
    options = LabOptions(**{"name": NAME, **wish})  # type: ignore[arg-type]
    return make_plan(options, Path("/run/netlab/x"), routes=networks, taken_slots=slots)


def test_a_lab_plan_is_read_back_unchanged_from_json() -> None:
    plan = a_plan(rate=100e6, queue_frames=50, hosts_file=Path("/tmp/hosts.yaml"))  # noqa: S108
    assert plan_from_json(json.loads(json.dumps(plan.as_json()))) == plan


def test_lab_addresses_avoid_every_network_with_a_route() -> None:
    assert a_plan().hosts[0].management_address == "198.19.0.2"
    plan = a_plan(routes=("198.18.0.0/26", "fd6e:6c61:6201::/64"))
    assert (plan.slot, plan.hosts[1].addresses[0]) == (2, "198.18.2.3")
    assert a_plan(routes=("198.18.0.0/15",)).hosts[0].management_address == "10.219.0.2"
    with pytest.raises(HostError, match="no free network"):
        a_plan(routes=("198.16.0.0/12", "10.0.0.0/8", "172.16.0.0/12"))


def test_two_labs_share_no_name_no_address_and_no_account() -> None:
    first, second = a_plan(), a_plan(slots=(0,), name="other")

    def things(plan: LabPlan) -> set[object]:
        return {plan.bridge, plan.controller_address} | {
            thing
            for host in plan.hosts
            for thing in (
                host.namespace,
                host.port,
                host.management_address,
                host.uid,
                *host.addresses,
            )
        }

    assert not things(first) & things(second)


def test_interface_names_of_the_last_possible_lab_have_at_most_15_bytes() -> None:
    last = a_plan(slots=tuple(range(63)))
    assert last.slot == 63
    assert max(len(name) for name in [last.bridge, *(host.port for host in last.hosts)]) <= 15


def test_a_star_has_one_cable_per_host_in_each_of_two_separate_networks() -> None:
    plan = a_plan(linux=6, rate=1e8, second_rate=4e7)
    assert plan == plan_from_json(json.loads(json.dumps(plan.as_json())))
    assert [host.name for host in plan.hosts] == [f"linux-{letter}" for letter in "abcdef"]
    assert [cable.rate for cable in plan.cables] == [1e8] * 6 + [4e7] * 6
    assert {end.namespace for cable in plan.cables for end in cable.ends[1:]} == {plan.switch}
    ports = [cable.ends[1].interface for cable in plan.cables]
    assert len(set(ports)) == 12
    assert max(map(len, ports)) <= 15
    for version in (0, 1):
        networks = {
            ipaddress.ip_interface(cable.ends[0].addresses[version]).network
            for cable in plan.cables
        }
        assert len(networks) == 2
        first, second = networks
        assert not first.overlaps(second)
        addresses = [
            a for host in plan.hosts for a in (host.addresses[version], host.second[version])
        ]
        assert len(set(addresses)) == 12


def test_a_star_may_have_two_hosts_and_a_router_may_have_windows_hosts() -> None:
    star = a_plan(topology="star")
    assert star == plan_from_json(json.loads(json.dumps(star.as_json())))
    assert [cable.ends[1].namespace for cable in star.cables] == [star.switch] * 2
    routed = [a_plan(topology="router", windows=windows) for windows in (0, 1, 2)]
    for plan in routed:
        LabOptions(topology="router", windows=plan.options.windows).check()
        assert (len(plan.cables), plan.switch) == (2, None)
    assert [[host.os for host in plan.hosts] for plan in routed] == [
        ["L", "L"],
        ["L", "W"],
        ["W", "W"],
    ]


def test_a_rate_mtu_or_quota_of_one_host_changes_no_other_host() -> None:
    plan = a_plan(
        linux=4,
        rate=1e8,
        rates={"linux-b": 1e7},
        mtus={"linux-c": 1400},
        cpu_shares={"linux-d": 0.2},
        second_rate=5e7,
        second_hosts=("linux-a", "linux-c"),
    )
    assert plan == plan_from_json(json.loads(json.dumps(plan.as_json())))
    first, further = plan.cables[:4], plan.cables[4:]
    assert [cable.rate for cable in first] == [1e8, 1e7, 1e8, 1e8]
    assert [cable.mtu for cable in first] == [1500, 1500, 1400, 1500]
    assert [host.cpu_share for host in plan.hosts] == [None, None, None, 0.2]
    assert [(cable.rate, cable.mtu) for cable in further] == [(5e7, 1500)] * 2
    assert [len(host.networks) for host in plan.hosts] == [2, 1, 2, 1]


def test_a_router_sends_into_a_slow_cable_at_the_rate_of_the_cable() -> None:
    slow_cable, fast_cable = a_plan(
        topology="router", rate=1e8, device_rate=4e7, rates={"linux-a": 1e7}
    ).cables
    assert [slow_cable.shape_at(end)[0] for end in slow_cable.ends] == [1e7, 1e7]
    assert [fast_cable.shape_at(end)[0] for end in fast_cable.ends] == [1e8, 4e7]


def test_lab_up_accepts_rates_mtus_and_quotas_for_single_hosts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[LabOptions] = []

    def up(options: LabOptions, **_: object) -> SimpleNamespace:
        calls.append(options)
        return SimpleNamespace(as_text=lambda: "up")

    monkeypatch.setattr("netlab.lab.up", up)
    words = "lab up --linux 3 --second 8mbit --second-of linux-a --rate-of linux-b=10mbit"
    words += " --mtu-of linux-c=1400 --cpu-quota linux-a=20% --cpu-quota linux-b=150%"
    assert CliRunner().invoke(cli, words.split()).exit_code == 0
    (options,) = calls
    assert (options.second_rate, options.second_hosts) == (8e6, ("linux-a",))
    assert (options.rates, options.mtus) == ({"linux-b": 10e6}, {"linux-c": 1400})
    assert options.cpu_shares == {"linux-a": 0.2, "linux-b": 1.5}

    calls.clear()
    words = "lab up --topology star --number 6 --windows --hosts lab.yaml"
    assert CliRunner().invoke(cli, words.split()).exit_code == 0
    (options,) = calls
    assert [os for _, os in options.hosts] == ["L", "L", "L", "L", "W", "W"]
    assert options.hosts_file == Path("lab.yaml")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("--number 4 --linux 3", "--number 4 and --linux 3: give one of them"),
        ("--number 0", "--number 0: a lab has 2 to 60 hosts"),
        ("--number -1", "--number -1: a lab has 2 to 60 hosts"),
        ("--number 61", "--number 61: a lab has 2 to 60 hosts"),
        (
            "--number 2 --windows",
            "--number 2 --windows 2: a lab has 4 to 62 hosts, at least two of them Linux",
        ),
        (
            "--number 3 --topology router",
            "--number 3: a lab with a router has two hosts, one at each end",
        ),
        (
            "--number 2 --windows 3 --topology router",
            "--number 2 --windows 3: a lab with a router has two hosts, one at each end",
        ),
        (
            "--windows 3 --topology router",
            "--windows 3: a lab with a router has two hosts, one at each end",
        ),
    ],
)
def test_lab_up_refuses_an_impossible_number_of_hosts(words: str, why: str) -> None:
    error = CliRunner().invoke(cli, ["lab", "up", *words.split()]).exception
    assert isinstance(error, UsageError)
    assert str(error).startswith(why)


@pytest.mark.parametrize(
    "option", ["--rate-of=linux-a", "--mtu-of=linux-a=big", "--cpu-quota=a=20"]
)
def test_lab_up_refuses_a_malformed_value_for_a_host_in_one_line(option: str) -> None:
    error = CliRunner().invoke(cli, ["lab", "up", option]).exception
    assert isinstance(error, UsageError)
    assert "not a valid HOST=VALUE" in str(error)
    assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("files", "expected_controller"),
    [
        ({"cpu/cpu.cfs_quota_us": "-1"}, ("cpu", 1)),
        ({"cpu,cpuacct/cpu.cfs_quota_us": "-1", "cpuset/tasks": ""}, ("cpu,cpuacct", 1)),
        ({"cgroup.controllers": "cpuset cpu io"}, (".", 2)),
        ({"cgroup.controllers": "cpuset io", "cpuacct/cpuacct.usage": "0"}, None),
    ],
)
def test_the_cpu_controller_is_found_in_both_versions_of_control_groups(
    tmp_path: Path, files: dict[str, str], expected_controller: tuple[str, int] | None
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    controller = programs.quota_controller(tmp_path)
    if expected_controller is None:
        assert controller is None
        with pytest.raises(HostError, match=r"--cpu-quota linux-a: .* has no CPU controller"):
            programs.make_quota(a_plan().hosts[0], 0.2, tmp_path)
    else:
        assert controller == programs.Controller(
            tmp_path / expected_controller[0], expected_controller[1]
        )


def test_a_cpu_quota_is_written_in_the_format_of_each_control_group_version(tmp_path: Path) -> None:
    host = a_plan().hosts[0]
    first, second = tmp_path / "first", tmp_path / "second"
    (first / "cpu").mkdir(parents=True)
    (first / "cpu" / "cpu.cfs_quota_us").write_text("-1")
    group = programs.make_quota(host, 0.2, first).folder
    assert (group / "cpu.cfs_quota_us").read_text() == "20000"
    assert (group / "cpu.cfs_period_us").read_text() == "100000"
    second.mkdir()
    (second / "cgroup.controllers").write_text("cpu")
    (second / "cgroup.subtree_control").write_text("memory")
    cpu_group = programs.make_quota(host, 1.5, second)
    assert (cpu_group.folder / "cpu.max").read_text() == "150000 100000"
    assert (second / "cgroup.subtree_control").read_text() == "+cpu"
    assert cpu_group.entered(["true"])[-2:] == [str(cpu_group.folder / "cgroup.procs"), "true"]
    with pytest.raises(HostError, match="File exists: a CPU quota needs"):
        programs.make_quota(host, 1.5, second)


def test_a_cable_with_an_mtu_below_1280_has_no_ipv6_address() -> None:
    assert [len(host.addresses) for host in a_plan(mtu=1279).hosts] == [1, 1]
    assert [len(host.addresses) for host in a_plan(mtu=1280).hosts] == [2, 2]


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        (LabOptions(name="../etc"), "a lab's name has"),
        (LabOptions(name="x" * 21), "a lab's name has"),
        (LabOptions(rate=0), "a cable has 64 kbit/s"),
        (LabOptions(queue_frames=20), "--queue needs --rate"),
        (LabOptions(linux=1), "--linux 1: a lab has 2 to 60 Linux hosts"),
        (LabOptions(linux=61), "--linux 61: a lab has 2 to 60 Linux hosts"),
        (LabOptions(second_rate=1), "--second 1 bit/s: a cable has 64 kbit/s"),
        (LabOptions(second_hosts=("linux-a",)), "--second-of needs --second"),
        (LabOptions(linux=3, rates={"linux-d": 1e7}), "--rate-of linux-d: no such host; this lab"),
        (LabOptions(linux=3, rates={"linux-c": 1}), "--rate-of linux-c 1 bit/s: a cable has"),
        (LabOptions(rates={"linux-a": 1e7}), "two hosts share one cable"),
        (
            LabOptions(linux=3, mtus={"linux-a": 1279}),
            "--mtu-of linux-a=1279: should be 1280 to 65535",
        ),
        (LabOptions(cpu_shares={"linux-c": 0.2}), "--cpu-quota linux-c: no such host; this lab"),
        (
            LabOptions(cpu_shares={"linux-a": 0.001}),
            "--cpu-quota linux-a=0.1%: should be 1 % of a CPU",
        ),
    ],
)
def test_impossible_lab_options_are_refused_in_one_line(wish: LabOptions, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        wish.check()
    assert "\n" not in str(caught.value)


def test_a_cable_of_100_mbit_has_the_documented_shaper_settings() -> None:
    numbers = shape_of(100e6, 1500, 1000)
    assert (numbers.rate_bit_per_s, numbers.burst_bytes) == (100_000_000, 3200)
    assert numbers.limit_bytes == 1_538_000
    assert (numbers.table_mtu_bytes, numbers.table_slots, step_bytes(numbers)) == (
        2047,
        2048,
        1,
    )


def test_the_table_of_the_shaper_has_a_slot_for_every_frame_length() -> None:
    for rate, mtu in product([1e6, 100e6, 1e9, 40e9], [68, 1500, 2010, 2040, 9000, 16000]):
        numbers = shape_of(rate, mtu, 20)
        frame_bytes = mtu + 38
        assert step_bytes(numbers) == 1, (rate, mtu)
        assert frame_bytes + 4 <= numbers.table_mtu_bytes == numbers.table_slots - 1
        assert numbers.burst_bytes >= 2 * frame_bytes
        assert numbers.burst_bytes * 8 / rate >= 200e-6
        assert numbers.limit_bytes == 20 * frame_bytes


def test_the_shaper_counts_frame_lengths_in_steps_of_4_bytes_at_an_mtu_of_65000() -> None:
    assert shape_of(1e9, 65535, 1000).table_slots == 16384
    assert step_bytes(shape_of(1e9, 32000, 1000)) == 2
    assert step_bytes(shape_of(1e9, 65000, 1000)) == 4


def test_the_inventory_of_a_lab_pins_host_keys_and_names_test_addresses(tmp_path: Path) -> None:
    from netlab.config.inventory import load_inventory

    plan = a_plan()
    keys = {host.name: f"ssh-ed25519 AAAA{host.uid}" for host in plan.hosts}
    file = tmp_path / "hosts.yaml"
    file.write_text(texts_of(plan, keys, Path("/run/netlab/x/id"), Path())[0])
    first, second = load_inventory(file).hosts
    assert (first.name, second.name, first.os, first.local) == ("linux-a", "linux-b", "L", False)
    assert first.host_key == keys["linux-a"]
    assert first.address("test") == plan.hosts[0].addresses[0]
