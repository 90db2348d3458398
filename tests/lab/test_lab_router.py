"""A lab with a router between its two hosts: names and addresses, and what the router forwards."""

from __future__ import annotations

import ipaddress
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest
from labs import inside, needs_a_lab, ssh, traces, wait_until

from netlab import lab
from netlab.errors import UsageError
from netlab.lab import programs
from netlab.lab.plan import LabOptions, LabPlan, make_plan, plan_from_json
from netlab.store.reader import read

NAME = f"r{os.getpid()}"


def a_plan(**wish: object) -> LabPlan:
    options = LabOptions(**{"name": NAME, "topology": "router", **wish})  # type: ignore[arg-type]
    return make_plan(options, Path("/run/netlab/x"), routes=[], taken_slots=())


def test_each_host_of_a_router_lab_has_its_own_network_with_the_router() -> None:
    plan = a_plan(device_rate=40e6, device_queue_frames=50)
    assert plan.router == f"netlab-{NAME}-router"
    networks = []
    for cable, host in zip(plan.cables, plan.hosts, strict=True):
        host_end, router_end = cable.ends
        assert (host_end.namespace, router_end.namespace) == (host.namespace, plan.router)
        for mine, its in zip(host_end.addresses, router_end.addresses, strict=True):
            network = ipaddress.ip_interface(mine).network
            assert ipaddress.ip_interface(its).network == network
            assert mine != its
            networks.append(network)
        assert [str(ipaddress.ip_interface(address).ip) for address in host_end.addresses] == [
            *host.addresses
        ]
    assert len({*networks}) == 4
    assert plan_from_json(json.loads(json.dumps(plan.as_json()))) == plan


def test_a_device_rate_shapes_only_the_router_ends_of_the_cables() -> None:
    for cable in a_plan(rate=100e6, device_rate=40e6, device_queue_frames=50).cables:
        assert [cable.shape_at(end) for end in cable.ends] == [(100e6, 1000), (40e6, 50)]
    for cable in a_plan(rate=100e6, queue_frames=20).cables:
        assert [cable.shape_at(end) for end in cable.ends] == [(100e6, 20), (100e6, 50)]
    for cable in a_plan(device_rate=40e6).cables:
        assert [cable.shape_at(end)[0] for end in cable.ends] == [None, 40e6]


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({"topology": "cable", "device_rate": 1e6}, "need `--topology router`"),
        ({"device_rate": 1.0}, "--device-rate 1 bit/s: a router forwards"),
        ({"device_queue_frames": 5}, "needs --device-rate or --rate"),
        ({"windows": 3}, "--windows 3: a lab with a router has two hosts"),
        ({"linux": 3}, "--linux 3: a lab with a router has two hosts"),
        ({"linux": 2, "windows": 1}, "--linux 2 --windows 1: a lab with a router has two hosts"),
        ({"second_rate": 1e9}, "--second: with `--topology router`, each host has only one cable"),
    ],
)
def test_impossible_options_of_a_router_lab_are_refused_in_one_line(
    wish: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError, match=message.replace("(", r"\(")) as excinfo:
        LabOptions(**{"name": NAME, "topology": "router", **wish}).check()  # type: ignore[arg-type]
    assert "\n" not in str(excinfo.value)


CABLE_BIT_PER_S, DEVICE_BIT_PER_S = 10e6, 4e6
QUEUE_FRAMES = 150
"""Of the router: a busy machine catches up by bursts, and 250 frames at 10 Mbit/s leave 150 waiting
where 4 Mbit/s go on."""
FRAMES_PER_S = CABLE_BIT_PER_S / (8 * 1538)
EXCESS_FRAMES = FRAMES_PER_S * (1 - DEVICE_BIT_PER_S / CABLE_BIT_PER_S) - QUEUE_FRAMES
"""Of a second at the rate of the cable: neither forwarded meanwhile nor given room to wait."""
SEARCH = """\
title: a router
link: {rate: 10Mbit, mtu: 1500, hops: 1}
pairings: [LL]
observe: [router]
tests:
  - {test: throughput_search, frame_size: 1518, duration: 1s, burst: 250, resolution: 5 %,
     settle: 0s, residual: 600ms}
"""


@pytest.fixture(scope="module")
def routed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[lab.LabState]:
    hosts_file = tmp_path_factory.mktemp("router") / "hosts.yaml"
    options = LabOptions(
        name=NAME,
        topology="router",
        rate=CABLE_BIT_PER_S,
        device_rate=DEVICE_BIT_PER_S,
        device_queue_frames=QUEUE_FRAMES,
        hosts_file=hosts_file,
    )
    try:
        yield lab.up(options)
    finally:
        lab.down(NAME)


def queues(of: lab.LabState, figure: str) -> int:
    """The sum of one of tc's figures over the queues of the router's ends."""
    assert of.plan is not None and of.plan.router is not None
    disciplines = json.loads(programs.run("tc", "-n", of.plan.router, "-s", "-j", "qdisc", "show"))
    shapers = [discipline for discipline in disciplines if discipline["kind"] == "tbf"]
    assert len(shapers) == 2
    return sum(shaper[figure] for shaper in shapers)


def dropped_and_lost(of: lab.LabState) -> tuple[int, int]:
    """So far: frames that tc says the router dropped, and frames that one host sent and the other
    never took in, as the hosts' ends of the cables count them."""
    wait_until(lambda: queues(of, "qlen") == 0)
    sent_frames, received_frames = (
        sum(
            int(inside(of, host, "cat", f"/sys/class/net/test/statistics/{way}_packets"))
            for host in (0, 1)
        )
        for way in ("tx", "rx")
    )
    return queues(of, "drops"), sent_frames - received_frames


class TestLab:
    """A lab that is up."""

    pytestmark: ClassVar = needs_a_lab

    def test_hosts_of_a_router_lab_route_ipv4_and_ipv6_via_the_router(
        self, routed: lab.LabState
    ) -> None:
        assert routed.plan is not None
        for address, gateways in zip(
            routed.hosts[1].addresses, routed.plan.cables[0].ends[1].addresses, strict=True
        ):
            route = inside(routed, 0, "ip", "route", "get", address)
            assert f"via {gateways.partition('/')[0]} dev test" in route

    def test_the_status_of_a_lab_names_the_router_and_its_rate(self, routed: lab.LabState) -> None:
        assert "router   forwards 4 Mbit/s each way" in routed.as_text()
        plain = routed.as_json()
        assert (plain["router"], plain["device_rate"]) == (f"netlab-{NAME}-router", 4e6)
        assert routed.up

    def test_a_throughput_search_finds_the_router_rate_and_counts_its_dropped_frames(
        self, routed: lab.LabState, tmp_path: Path
    ) -> None:
        (tmp_path / "matrix.yaml").write_text(SEARCH)
        command = ["run", "matrix.yaml", "--hosts", str(routed.hosts_file), "--into", "run"]
        assert ssh(routed, "linux-a", "echo", "here") == "here"
        early_counts = dropped_and_lost(routed)
        process = subprocess.run(
            [sys.executable, "-m", "netlab", *command],
            capture_output=True,
            text=True,
            timeout=400,
            check=False,
            cwd=tmp_path,
        )
        assert process.returncode == 0, process.stderr
        drops, losses = (
            late - early for early, late in zip(early_counts, dropped_and_lost(routed), strict=True)
        )
        (record,) = read(tmp_path / "run").latest.values()
        values = record.values
        # Never more than a step above the router's rate; less where a busy machine loses frames.
        assert 0.1 < float(str(values["line_share"])) < 0.451
        assert values["limit"] == "device"
        assert (values["observed_1_host"], values["limit_host"]) == ("router", "router")
        assert values["one_machine"] is True
        # The line rate is tried twice, and once at least by a sender that was not held up.
        assert int(str(values["observed_1_queue_dropped_frames"])) > EXCESS_FRAMES
        assert values["observed_1_queue_dropped_frames"] == drops
        # Each side's own talk with the router, of neighbours and groups, has no other end.
        assert losses == pytest.approx(drops, abs=50)
        assert "% of the wire ceiling, limit: device" in process.stdout
        assert "device (router: CPU " in process.stdout
        assert (tmp_path / "run" / "index.html").is_file()


@pytest.mark.needs("lab")
def test_lab_down_removes_the_router() -> None:
    name = f"{NAME}-down"
    lab_state = lab.up(LabOptions(name=name, topology="router"))
    assert lab_state.plan is not None
    assert traces(lab_state.plan)
    lab.down(name)
    assert traces(lab_state.plan) == []
