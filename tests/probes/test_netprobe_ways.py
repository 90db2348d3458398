"""The way to a peer goes, comes back, or is another than the route's: two cables."""

from __future__ import annotations

import time
from contextlib import ExitStack

import pytest
from netprobe_agents import Agent, Trial, netprobe, open_trial
from round_trip_peers import TOKEN
from two_networks import HERE, THERE, Networks, networks

__all__ = ["netprobe", "networks"]

pytestmark = [pytest.mark.lab, pytest.mark.needs("root", "unshare")]


def cut(networks: Networks, side: int, seconds: float) -> None:
    """A cable that is pulled out at one side, whose routes go with it."""
    networks.ip(side, "link set one down")
    time.sleep(seconds)
    networks.ip(side, "link set one up")


# ---- one "unreachable", or a second of them, does not end a UDP test ----


@pytest.mark.parametrize("method", ["plain", "batch"])
def test_a_udp_sender_survives_one_second_without_a_route(networks: Networks, method: str) -> None:
    with networks.agent(0) as receiver, networks.agent(1) as sender:
        running_trial = open_trial(
            (receiver, sender), address=HERE, proto="udp", seconds=4, message=200,
            message_rate=2000, send={"method": method},
        )  # fmt: skip
        receiver.next(running_trial.receiving, "progress")
        cut(networks, 1, 1.0)
        outcome = running_trial.finish()
    assert outcome.sent["type"] == "result", outcome.sent
    assert outcome.received["type"] == "result", outcome.received
    assert outcome.received["longest_gap_ns"] > 800e6
    check_due(outcome, 2000)
    assert outcome.sent["refused_messages"] > 100


def check_due(outcome: Trial, rate: float) -> None:
    """Every message that was due was sent, refused, or passed over: no other becomes of one."""
    sender_record = outcome.sent
    due = rate * (sender_record["last_send_ns"] - sender_record["first_send_ns"]) / 1e9
    total = (
        sender_record["sent_messages"]
        + sender_record["refused_messages"]
        + sender_record["skipped_messages"]
    )
    assert total == pytest.approx(due, rel=0.05)
    assert sender_record["local_drops"] <= sender_record["refused_messages"]


def test_a_udp_sender_reports_unreachable_where_the_route_stays_away(networks: Networks) -> None:
    with networks.agent(0) as receiver, networks.agent(1) as sender:
        running_trial = open_trial(
            (receiver, sender), address=HERE, proto="udp", seconds=60, message_rate=2000
        )
        receiver.next(running_trial.receiving, "progress")
        networks.ip(1, "link set one down")
        began = time.monotonic()
        assert sender.next(running_trial.sample, "error")["error"] == "unreachable"
        assert 4 < time.monotonic() - began < 30
        receiver.ask("stop", test=running_trial.receiving, abort=1)


def ask_across(
    networks: Networks, stack: ExitStack, **keys: object
) -> tuple[Agent, str, Agent, str]:
    mirror, asker = (stack.enter_context(networks.agent(side)) for side in (0, 1))
    keys |= {"proto": "udp", "token": TOKEN, "message": 100}
    mirroring = mirror.start("mirror", bind=HERE, **keys)
    to = f"{HERE}:{mirror.next(mirroring)['port']}"
    asking = asker.start("ask", to=to, seconds=4, message_rate=500, timeout=0.2, **keys)
    asker.next(asking, "progress")
    return mirror, mirroring, asker, asking


def test_an_asker_survives_one_second_without_a_route(networks: Networks) -> None:
    with ExitStack() as stack:
        mirror, mirroring, asker, asking = ask_across(networks, stack)
        cut(networks, 1, 1.0)
        asker_record = asker.next(asking, "result", "error")
        assert asker_record["type"] == "result", asker_record
        assert asker_record["refused_messages"] > 0
        assert asker_record["sent_messages"] == pytest.approx(2000, abs=2)
        assert asker_record["rtt_max_ns"] > 800e6  # counted from when it was due
        mirror.ask("stop", test=mirroring)
        assert mirror.next(mirroring, "result", "error")["type"] == "result"


def test_a_mirror_survives_one_second_without_a_route_back(networks: Networks) -> None:
    with ExitStack() as stack:
        mirror, mirroring, asker, asking = ask_across(networks, stack)
        networks.ip(0, f"route add unreachable {THERE}/32")
        time.sleep(1)
        networks.ip(0, f"route del unreachable {THERE}/32")
        asker_record = asker.next(asking, "result", "error")
        assert asker_record["type"] == "result", asker_record
        assert asker_record["lost_messages"] >= 3
        mirror.ask("stop", test=mirroring)
        mirror_record = mirror.next(mirroring, "result", "error")
        assert mirror_record["type"] == "result", mirror_record
        assert mirror_record["refused_messages"] >= 3


# ---- a host that died ----


def test_both_ends_of_a_tcp_stream_report_a_peer_whose_host_died(networks: Networks) -> None:
    """Nobody says a word: the far end of the cable is out. A sender hears of it by what is not
    acknowledged, a receiver by asking."""
    with networks.agent(0) as receiver, networks.agent(1) as sender:
        agents = (receiver, sender)
        running_trial = open_trial(agents, address=HERE, seconds=60, message_rate=500)
        receiver.next(running_trial.receiving, "progress")
        networks.tc(0, "qdisc replace dev one root tbf rate 8bit burst 10 limit 10")
        networks.tc(1, "qdisc replace dev one root tbf rate 8bit burst 10 limit 10")
        began = time.monotonic()
        for agent, name in ((sender, running_trial.sample), (receiver, running_trial.receiving)):
            assert agent.next(name, "error")["error"] == "peer-vanished"
        assert 8 < time.monotonic() - began < 40


# ---- the interface that was named ----


def test_records_count_bytes_of_the_requested_interface(networks: Networks) -> None:
    """Its peer's address is another network's: the route says ``one``."""
    networks.ip(0, "addr add 10.78.9.1/32 dev lo")
    networks.ip(1, f"route add 10.78.9.1/32 via {HERE} dev one")
    networks.ip(1, "route add 10.78.9.1/32 via 10.78.2.1 dev two metric 9")
    networks.ip(1, "link set two mtu 1400")
    with networks.agent(0) as receiver, networks.agent(1) as sender:
        for protocol in ("tcp", "udp"):
            running_trial = open_trial(
                (receiver, sender), address="10.78.9.1", proto=protocol, seconds=0.3,
                message=1000, message_rate=2000, send={"interface": "two"},
            )  # fmt: skip
            outcome = running_trial.finish()
            assert outcome.sent["type"] == "result", outcome.sent
            assert (outcome.sent["interface"], outcome.sent["interface_mtu_bytes"]) == ("two", 1400)
            assert ("tcp_window_scaling" in outcome.sent) is (protocol == "tcp")
            assert outcome.sent["interface_sent_bytes"] > outcome.sent["total_bytes"]
        facts = sender.ask("facts", to="10.78.9.1")
        assert (facts["route_interface"], facts["interface_mtu_bytes"]) == ("one", 1500)
        facts = sender.ask("facts", to="10.78.9.1", interface="two")
        assert (facts["route_interface"], facts["interface_mtu_bytes"]) == ("two", 1400)
        assert facts["route_gateway"] == "10.78.2.1"


def test_records_count_bytes_of_the_interface_in_a_scoped_address(networks: Networks) -> None:
    """fe80::1 is at the end of either cable."""
    with networks.agent(0) as receiver, networks.agent(1) as sender:
        for device in ("one", "two"):
            running_trial = open_trial(
                (receiver, sender), address=f"fe80::1%25{device}", proto="udp", seconds=0.3,
                message=1000, message_rate=2000,
            )  # fmt: skip
            outcome = running_trial.finish()
            for side, kind in ((outcome.sent, "sent"), (outcome.received, "received")):
                assert side["type"] == "result", side
                assert side["interface"] == device
                assert side[f"interface_{kind}_bytes"] > side["total_bytes"]
            assert sender.ask("facts", to=f"fe80::1%25{device}")["route_interface"] == device
