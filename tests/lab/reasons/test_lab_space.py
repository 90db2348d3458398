"""The forwarder of `make benchmark-space` carries every frame, and acts on the frames it should."""

from __future__ import annotations

import itertools
import json
import os
import statistics
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from labs import needs_a_lab

from benchmarks.space.draw import Planned, chosen, drawn
from benchmarks.space.forwarder import forwarding
from benchmarks.space.matrices import Stand
from benchmarks.space.one_run import measure, standing
from benchmarks.space.plants import selector_of
from benchmarks.space.trials import COUNTING, grown
from benchmarks.space.words import Words
from benchmarks.truths import tools
from benchmarks.truths.one_run import TRUTH
from benchmarks.truths.site import RECEIVER, SENDER, Site
from netlab.findings.analysis import load
from netlab.findings.finding import Kind
from netlab.runner.options import Options
from netlab.runner.progress import Progress
from netlab.runner.run import run

pytestmark = [*needs_a_lab, pytest.mark.night, pytest.mark.needs("iperf3")]

MTU = 1500
PORTS = (6001, 6002)
COUNT = 400
SEND = """
import socket, struct, sys, time
address, port, count, size, dscp, pause = sys.argv[1], *map(int, sys.argv[2:6]), float(sys.argv[6])
family = socket.AF_INET6 if ":" in address else socket.AF_INET
with socket.socket(family, socket.SOCK_DGRAM) as out:
    if family == socket.AF_INET:
        out.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, dscp << 2)
    else:
        out.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, dscp << 2)
    out.bind(("", 7000))
    for number in range(count):
        out.sendto(struct.pack("!I", number).ljust(size, b"x"), (address, port))
        time.sleep(pause)
"""
SINK = """
import json, select, socket, struct, sys
got = {}
sinks = []
for port in (6001, 6002):
    sink = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    sink.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    sink.bind(("::", port))
    sinks.append(sink)
print("bound", flush=True)
while True:
    ready, _, _ = select.select([*sinks, sys.stdin], [], [])
    for sink in sinks:
        if sink in ready:
            data = sink.recv(65535)
            got.setdefault(sink.getsockname()[1], []).append(struct.unpack("!I", data[:4])[0])
    if sys.stdin in ready and len(ready) == 1:
        print(json.dumps(got), flush=True)
        break
"""
TRIPS = """
import socket, sys, time
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
out.connect((sys.argv[1], 5302))
out.settimeout(1)
for _ in range(int(sys.argv[2])):
    began = time.perf_counter()
    out.send(b"x")
    out.recv(10)
    took = time.perf_counter() - began
    print(took * 1e3)
    time.sleep(max(0, 0.01 - took))
"""
LISTEN = """
import socket
with socket.create_server(("", 6003)) as listener:
    print("bound", flush=True)
    listener.accept()[0].recv(1)
"""
CONNECT = """
import socket, sys
with socket.create_connection((sys.argv[1], 6003), 5) as connection:
    print(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG))
"""


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    plain = Planned("plain", "healthy", (), Stand(tests=()), 1)
    with standing(plain, f"space-{os.getpid()}") as site:
        yield site


def arrived(
    site: Site,
    size: int = 200,
    dscp: int = 0,
    port: int = PORTS[0],
    family: int = 4,
    pause_s: float = 0.0002,
) -> list[int]:
    """The numbers of datagrams as they arrive, of ``COUNT``."""
    address = site.host(RECEIVER).addresses[0 if family == 4 else 1]
    words = [address, port, COUNT, size, dscp, pause_s]
    with site.running(RECEIVER, "python3", "-I", "-S", "-c", SINK) as sink:
        assert sink.stdout is not None and sink.stdin is not None
        assert sink.stdout.readline() == "bound\n"
        site.run(SENDER, "python3", "-I", "-S", "-c", SEND, *map(str, words))
        site.run(SENDER, "sleep", "0.2")
        sink.stdin.close()
        return list(json.loads(sink.stdout.readline()).get(str(port), []))


def round_trips_ms(site: Site, count: int = 40) -> list[float]:
    """Round trips of datagrams, one every 10 ms."""
    address = site.host(RECEIVER).addresses[0]
    with site.running(RECEIVER, "python3", "-I", "-S", "-c", tools.ECHO):
        site.run(SENDER, "sleep", "0.6")
        words = ["python3", "-I", "-S", "-c", TRIPS, address, str(count)]
        return [float(line) for line in site.run(SENDER, *words).split()]


# ---- what it carries -----------------------------------------------------------------------------


def test_full_frames_of_100_mbit_pass_without_loss_or_delay_of_its_own(site: Site) -> None:
    with forwarding(site, MTU, []) as forwarder:
        rate = tools.iperf3(site, rounds=1)
        counters = forwarder.counters()
    assert rate > 0.97 * 94.1e6
    assert counters.own_loss == counters.no_room == 0
    there = counters.ports[0]
    assert there["frames"] > 8_000
    assert max(float(port["own_us"]) for port in counters.ports) < 200, counters.ports


def test_as_many_small_frames_as_a_program_sends_pass_without_loss_of_its_own(site: Site) -> None:
    words = ["--udp", "--bitrate", "0", "--length", "16"]
    with forwarding(site, MTU, []) as forwarder:
        tools.iperf3(site, *words, rounds=1, seconds=1, warm_up_s=0)
        counters = forwarder.counters()
    assert counters.ports[0]["frames"] > 10_000, counters.ports  # as fast as the CPUs allow
    assert counters.own_loss == counters.no_room == 0
    # The sender, the receiver and the forwarder share the CPUs: none of them waits for long.
    assert counters.ports[1]["own_us"] < 5_000, counters.ports


# ---- which packets -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("selector", "dropped", "passed"),
    [
        ("protocol=17", {}, None),
        ("protocol=6", None, {}),
        ("family=6", {"family": 6}, {"family": 4}),
        ("family=4", {"family": 4}, {"family": 6}),
        ("longer=800", {"size": 1000}, {"size": 700}),
        ("shorter=800", {"size": 700}, {"size": 1000}),
        ("dscp=46", {"dscp": 46}, {"dscp": 0}),
        ("dscp=46", {"dscp": 46, "family": 6}, {"dscp": 8, "family": 6}),
        ("way=ba", None, {}),
        ("way=ab", {}, None),
        ("acks=1", None, {}),
        ("fragments=1", {"size": 3000}, {"size": 1000}),
        ("fragments=1", {"size": 3000, "family": 6}, {"size": 1000, "family": 6}),
        ("of=2,flow=1", {"port": 6001}, {"port": 6002}),  # the second flow that it sees
    ],
)
def test_a_rule_acts_on_the_packets_that_it_selects_and_on_no_others(
    site: Site, selector: str, dropped: dict[str, int] | None, passed: dict[str, int] | None
) -> None:
    with forwarding(site, MTU, [f"do=drop,protocol=17,{selector}"]) as forwarder:
        first = forwarder.counters()
        if passed is not None:
            assert arrived(site, **passed) == [*range(COUNT)]
        second = forwarder.counters()
        assert grown(first, second, 0).matched == (0, 0)
        if dropped is not None:
            got = arrived(site, **dropped)
            matched = grown(second, forwarder.counters(), 0)
            assert got == [] and matched.dropped == matched.matched
            assert matched.dropped[0] >= COUNT and matched.dropped[1] == 0


def test_acknowledgements_without_data_are_selected_on_their_way_back(site: Site) -> None:
    with forwarding(site, MTU, ["acks=1,do=drop,share=0"]) as forwarder:
        tools.iperf3(site, rounds=1, seconds=1)
        counters = forwarder.counters()
    matched = counters.rules[0].matched
    assert matched[1] > 0.1 * counters.ports[0]["frames"]
    assert matched[0] < 0.02 * counters.ports[0]["frames"]


def test_half_of_the_flows_are_selected_as_they_come_anew_in_each_trial(site: Site) -> None:
    with forwarding(site, MTU, ["do=drop,way=ab,protocol=17,of=2,flow=1,off=1"]) as forwarder:
        for ports in (PORTS, PORTS[::-1]):
            forwarder.turn(0, on=True)
            assert arrived(site, port=ports[0]) == [*range(COUNT)]
            assert arrived(site, port=ports[1]) == []


def test_packets_with_data_are_counted_by_a_rule_that_does_nothing(site: Site) -> None:
    with forwarding(site, MTU, [COUNTING, "do=drop,way=ab,protocol=17,share=0.4"]) as forwarder:
        got, long = arrived(site, size=100), arrived(site, size=1000)
        counters = forwarder.counters()
    assert COUNT <= counters.rules[0].matched[0] <= COUNT + 5
    assert counters.rules[0].acted == (0, 0)
    assert counters.rules[1].dropped[0] == 2 * COUNT - len(got) - len(long)


# ---- what, and how much --------------------------------------------------------------------------


def test_a_share_of_the_packets_is_dropped_and_the_counters_say_which(site: Site) -> None:
    with forwarding(site, MTU, ["do=drop,way=ab,protocol=17,share=0.4"]) as forwarder:
        got = arrived(site)
        rule = forwarder.counters().rules[0]
    assert rule.dropped == (COUNT - len(got), 0)
    assert rule.share == pytest.approx(0.4, abs=0.1)


def test_a_share_of_the_packets_is_copied(site: Site) -> None:
    with forwarding(site, MTU, ["do=copy,way=ab,protocol=17,share=0.4"]) as forwarder:
        got = arrived(site)
        rule = forwarder.counters().rules[0]
    assert {*got} == {*range(COUNT)}
    assert len(got) - COUNT == rule.acted[0] > 0.3 * COUNT


def test_a_share_of_the_packets_comes_late_and_none_is_lost(site: Site) -> None:
    with forwarding(site, MTU, ["do=order,way=ab,protocol=17,share=0.1,ms=3"]) as forwarder:
        got = arrived(site)
        rule = forwarder.counters().rules[0]
    assert sorted(got) == [*range(COUNT)] != got
    overtaken = sum(number < max(got[:place], default=0) for place, number in enumerate(got))
    assert overtaken == pytest.approx(rule.acted[0], abs=0.2 * rule.acted[0] + 2)


def test_a_corrupted_packet_fails_the_checksum_of_the_receiver(site: Site) -> None:
    def errors() -> int:
        rows = site.run(RECEIVER, "cat", "/proc/net/snmp").splitlines()
        names, values = (row.split() for row in rows if row.startswith("Udp:"))
        return int(dict(zip(names, values, strict=True))["InCsumErrors"])

    with forwarding(site, MTU, ["do=corrupt,way=ab,protocol=17,share=0.1"]) as forwarder:
        before = errors()
        got = arrived(site)
        rule = forwarder.counters().rules[0]
    assert rule.acted[0] > 0
    assert errors() - before == rule.acted[0] == COUNT - len(got)


def test_a_delay_is_added_to_each_packet_of_its_way_and_ends_with_its_rule(site: Site) -> None:
    with forwarding(site, MTU, ["do=delay,way=ba,ms=5"]) as forwarder:
        assert 5.0 < statistics.median(round_trips_ms(site)) < 5.6
        forwarder.turn(0, on=False)
        assert statistics.median(round_trips_ms(site)) < 0.6


def test_jitter_delays_what_comes_together_alike_and_keeps_order(site: Site) -> None:
    with forwarding(site, MTU, ["do=jitter,way=ab,protocol=17,ms=8"]):
        got = arrived(site, pause_s=0.0002)
    assert got == [*range(COUNT)]


def test_jitter_spreads_round_trips_evenly_up_to_its_bound(site: Site) -> None:
    with forwarding(site, MTU, ["do=jitter,way=ab,ms=8"]):
        trips = round_trips_ms(site, 100)
    low, *_, high = statistics.quantiles(trips, n=10)
    assert 0 < low < 2 and 6 < high < 9
    assert statistics.median(trips) == pytest.approx(4, abs=1.5)


def test_a_rate_is_that_of_the_wire_and_a_limit_of_packets_is_one_of_packets(site: Site) -> None:
    with forwarding(site, MTU, ["do=rate,way=ab,number=40e6,queue_ms=50"]):
        words = ["--udp", "--bitrate", "80M", "--length", "1472"]
        rate = tools.iperf3(site, *words, rounds=1)
    assert 0.97 < rate / (40e6 * 1472 / 1538) < 1.02
    with forwarding(site, MTU, ["do=packets,way=ab,number=2000,queue_ms=50"]):
        rate = tools.iperf3(site, "--udp", "--bitrate", "16M", "--length", "500", rounds=1)
    assert 0.97 < rate / (2000 * 500 * 8) < 1.02


def test_packets_above_a_length_do_not_pass(site: Site) -> None:
    with forwarding(site, MTU, ["do=length,way=ab,number=1400"]):
        assert tools.path_mtu(site) == 1400


def test_the_segment_size_of_a_connection_is_clamped(site: Site) -> None:
    address = site.host(RECEIVER).addresses[0]
    python = ("python3", "-I", "-S", "-c")
    with (
        forwarding(site, MTU, ["do=mss,number=1000"]) as forwarder,
        site.running(RECEIVER, *python, LISTEN) as listener,
    ):
        assert listener.stdout is not None and listener.stdout.readline() == "bound\n"
        mss = int(site.run(SENDER, *python, CONNECT, address))
        assert forwarder.counters().rules[0].acted == (1, 1)
    assert mss in (1000, 988)


# ---- when ----------------------------------------------------------------------------------------


def test_a_pause_holds_packets_until_it_ends_and_loses_none(site: Site) -> None:
    rule = "do=pause,way=ab,protocol=17,when=periodic,on_ms=40,off_ms=60"
    with forwarding(site, MTU, [rule]) as forwarder:
        trips = round_trips_ms(site, 100)
        share = forwarder.counters().rules[0].share
    assert len(trips) == 100 and sum(trip > 20 for trip in trips) >= 4
    assert sum(trip > 42 for trip in trips) <= 4  # the hosts' programs may be late
    assert share == 1
    # What is held delays the next request, so that few are sent while a pause lasts.
    assert 8 <= sum(trip > 1 for trip in trips) <= 40


@pytest.mark.parametrize("when", ["periodic", "bursts"])
def test_a_rule_that_comes_and_goes_is_there_for_its_part_of_the_time(
    site: Site, when: str
) -> None:
    rule = f"do=drop,way=ab,protocol=17,when={when},on_ms=20,off_ms=20"
    with forwarding(site, MTU, [rule]) as forwarder:
        got = arrived(site, pause_s=0.002)
        seen = forwarder.counters().rules[0]
    assert COUNT - len(got) == seen.active[0]
    within = 0.06 if when == "periodic" else 0.25
    assert seen.active[0] / COUNT == pytest.approx(0.5, abs=within)
    gaps = Counter(b - a > 1 for a, b in itertools.pairwise(got))
    assert gaps[True] >= 8


def test_a_rule_of_the_beginning_acts_once_in_each_trial_for_its_time(site: Site) -> None:
    rule = "do=drop,way=ab,protocol=17,when=begin,after_ms=10,on_ms=50,off=1"
    with forwarding(site, MTU, [rule]) as forwarder:
        for _ in range(2):
            forwarder.turn(0, on=True)  # a trial begins
            got = arrived(site, pause_s=0.001)
            missing = sorted({*range(COUNT)} - {*got})
            assert missing == [*range(missing[0], missing[-1] + 1)]
            assert 1 <= missing[0] <= 12 and 25 <= len(missing) <= 51
        site.run(SENDER, "sleep", "0.2")
        assert arrived(site, pause_s=0.001) == [*range(COUNT)]  # silence is no beginning


HALF = """
link: {rate: 20Mbit, mtu: 1500}
pairings: [linux-a+linux-b]
repeats: 3
defaults: {duration: 1s, warm_up: 500ms}
tests:
  - {test: stream, protocol: TCP, message_size: 1448}
"""


@pytest.mark.produces("rate-limit/half-duplex")
@pytest.mark.parametrize("shared", [1, 0])
def test_a_link_that_carries_one_way_at_a_time_is_told_by_its_acknowledgements(
    site: Site, tmp_path: Path, shared: int
) -> None:
    matrix, into = tmp_path / "half.yaml", tmp_path / "half"
    # One rate for both ways together; or that of the data alone, and much less.
    number = 20e6 if shared else 15e6
    matrix.write_text(HALF, "utf-8")
    with forwarding(site, MTU, [f"do=rate,number={number:.0f},queue_ms=30,shared={shared}"]):
        run(Options(matrix=matrix, hosts=site.state.hosts_file, into=into), Progress())
    kinds = {finding.kind for finding in load(into).findings}
    assert (Kind.RATE_LIMIT_HALF_DUPLEX in kinds) is bool(shared), kinds
    assert (Kind.RATE_LIMIT_EITHER in kinds) is not bool(shared)


# ---- a whole run ---------------------------------------------------------------------------------


def test_a_run_with_a_cause_is_measured_with_its_control_and_the_counters_show_the_cause(
    tmp_path: Path,
) -> None:
    runs = chosen(drawn("1"), {"where": "path", "what": "drops", "share": "0.4"}, 1)
    measure(runs[0], tmp_path)
    truth = json.loads((tmp_path / runs[0].name / TRUTH).read_text("utf-8"))
    (seen,) = truth["evidence"]
    assert truth["failed"] is None and seen["acted"] and seen["cells"]
    assert seen["shares"]["counted"] == pytest.approx(seen["shares"]["acting"], abs=0.05)
    for cell in seen["cells"]:
        its = seen["counts"][cell]
        assert its["acted"] / its["active"] == pytest.approx(seen["shares"]["acting"], abs=0.1)
        assert 0 < its["active"] <= its["matched"]


FLOW_IN_TWO = Words("sender-queue", "rate", when="trials", share=0.4)


def test_a_program_of_a_cause_runs_in_all_its_trials(tmp_path: Path) -> None:
    both = {"test": "stream", "protocol": ["TCP", "UDP"], "message_size": 1452, "streams": 1}
    stand = Stand(rate_bit_per_s=20e6, tests=(both,), repeats=4)
    seeds = (seed for seed in itertools.count(1) if trials_of(seed, stand) > 1)
    planned = Planned("flow", "cause", (FLOW_IN_TWO,), stand, next(seeds))
    measure(planned, tmp_path)
    truth = json.loads((tmp_path / planned.name / TRUTH).read_text("utf-8"))
    (seen,) = truth["evidence"]
    assert truth["failed"] is None and len(seen["cells"]) == 2 and seen["also"] == []
    assert [*seen["costs"].values()] == pytest.approx([0.4, 0.4], abs=0.06)


def trials_of(seed: int, stand: Stand) -> int:
    """In how many trials of each cell the cause is."""
    selector = selector_of(Planned("flow", "cause", (FLOW_IN_TWO,), stand, seed), FLOW_IN_TWO)
    return sum(selector(number) for number in range(1, stand.repeats + 1))
