"""What a path does to packets, in real runs: each kind of finding about it, and none without it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from labs import needs_a_lab

from benchmarks.space.draw import Planned, chosen, drawn
from benchmarks.space.evidence import RUN
from benchmarks.space.forwarder import forwarding
from benchmarks.space.matrices import Stand
from benchmarks.space.one_run import measure, standing
from benchmarks.truths.plants.hosts import setting
from benchmarks.truths.site import RECEIVER, Site
from netlab.findings.analysis import load
from netlab.findings.finding import Finding, Kind
from netlab.runner.options import Options
from netlab.runner.progress import Progress
from netlab.runner.run import run

pytestmark = [*needs_a_lab, pytest.mark.night]

RATE_BIT_PER_S = 20_000_000
TRIPS: Mapping[str, Any] = {
    "test": "round_trip",
    "protocol": "UDP",
    "message_size": 400,
    "timeout": "50ms",
}
TCP: Mapping[str, Any] = {"test": "stream", "protocol": "TCP", "message_size": 1448}
UDP: Mapping[str, Any] = {"test": "stream", "protocol": "UDP", "message_size": 1472}
FAR = "do=delay,way=ab,ms=5"


def cases() -> Mapping[Kind, tuple[Sequence[str], Mapping[str, Any]]]:
    """Kind → what the forwarder does, and the test that shows it."""
    at_once = {**TRIPS, "outstanding": 16}
    two_classes = {**TRIPS, "dscp": [0, 46]}
    streams = {"test": "stream", "protocol": "UDP", "message_size": 400, "dscp": [0, 46]}
    at_times = "do=delay,way=ab,ms=6,when=periodic,on_ms=100,off_ms=100"
    return {
        Kind.LONGER_PATH_PACKETS: ([FAR, "do=delay,way=ab,dscp=46,ms=4"], two_classes),
        Kind.LONGER_PATH_TIMES: ([FAR, at_times], TRIPS),
        Kind.PATH_JITTER: ([FAR, "do=jitter,way=ab,ms=6"], TRIPS),
        Kind.TRIPS_LOST_THERE: (["do=drop,way=ab,protocol=17,share=0.1"], TRIPS),
        Kind.TRIPS_LOST_BACK: (["do=drop,way=ba,protocol=17,share=0.1"], TRIPS),
        Kind.TRIPS_COPIED_THERE: (["do=copy,way=ab,protocol=17,share=0.1"], TRIPS),
        Kind.TRIPS_COPIED_BACK: (["do=copy,way=ba,protocol=17,share=0.1"], TRIPS),
        Kind.TRIPS_DAMAGED_THERE: (["do=corrupt,way=ab,protocol=17,share=0.1"], TRIPS),
        Kind.TRIPS_DAMAGED_BACK: (["do=corrupt,way=ba,protocol=17,share=0.1"], TRIPS),
        Kind.TRIPS_OVERTAKEN_THERE: (["do=order,way=ab,protocol=17,share=0.1,ms=8"], at_once),
        Kind.TRIPS_OVERTAKEN_BACK: (["do=order,way=ba,protocol=17,share=0.1,ms=8"], at_once),
        Kind.WAY_BACK_LOST: (["do=drop,way=ba,acks=1,share=0.2"], TCP),
        Kind.WAY_BACK_OVERTAKEN: (["do=order,way=ba,acks=1,share=0.1,ms=8"], TCP),
        Kind.WAY_BACK_COPIED: (["do=copy,way=ba,acks=1,share=0.2"], TCP),
        Kind.DELIVERY_AGAIN: (["do=copy,way=ab,longer=200,share=0.1"], TCP),
        Kind.DELIVERY_OVERTAKEN: (["do=order,way=ab,longer=200,share=0.02,ms=8"], TCP),
        Kind.OFF_RATE_HELD: (
            ["do=rate,way=ab,number=8000000,queue_ms=30"],
            {**TCP, "rate": 16_000_000},
        ),
        Kind.NO_RESULT_EACH: (["do=drop,way=ab,dscp=46"], streams),
        Kind.CLAMPED_MSS: (["do=mss,way=both,number=1000"], TCP),
        Kind.LOSS_LIMIT_DAMAGED: (["do=corrupt,way=ab,protocol=17,share=0.1"], UDP),
        Kind.WAY_BACK_DAMAGED: (["do=corrupt,way=ba,acks=1,share=0.2"], TCP),
        Kind.PATH_PAUSES: (
            ["do=pause,way=ab,when=periodic,on_ms=60,off_ms=140"],
            {**UDP, "rate": 8_000_000},
        ),
        Kind.TWO_RATES: (
            ["do=rate,way=ab,number=12000000,queue_ms=0.5,when=periodic,on_ms=150,off_ms=150"],
            UDP,
        ),
    }


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    plain = Planned("plain", "healthy", (), Stand(rate_bit_per_s=RATE_BIT_PER_S, tests=()), 1)
    with standing(plain, f"kinds-{os.getpid()}") as site:
        yield site


def findings_of(
    site: Site, rules: Sequence[str], test: Mapping[str, Any], folder: Path
) -> tuple[Finding, ...]:
    """The findings of a run over a path with these rules."""
    matrix = {
        "link": {"rate": RATE_BIT_PER_S, "mtu": 1500},
        "pairings": ["linux-a+linux-b"],
        "repeats": 3,
        "tests": [{**test, "duration": "800ms"}],
    }
    path = folder / "matrix.yaml"
    path.write_text(json.dumps(matrix), "utf-8")
    with forwarding(site, 1500, rules):
        into = folder / "run"
        run(Options(matrix=path, hosts=site.state.hosts_file, into=into), Progress())
    return load(into).findings


def kinds_of(site: Site, rules: Sequence[str], test: Mapping[str, Any], folder: Path) -> set[Kind]:
    return {finding.kind for finding in findings_of(site, rules, test, folder)}


@pytest.mark.produces(
    "longer-path/packets",
    "longer-path/times",
    "path-jitter",
    "trips/lost-there",
    "trips/lost-back",
    "trips/copied-there",
    "trips/copied-back",
    "trips/damaged-there",
    "trips/damaged-back",
    "trips/overtaken-there",
    "trips/overtaken-back",
    "way-back/lost",
    "way-back/copied",
    "way-back/overtaken",
    "delivery/again",
    "delivery/overtaken",
    "no-result/each",
    "off-rate/held",
    "clamped-mss",
    "loss-limit/damaged",
    "way-back/damaged",
    "path-pauses",
    "two-rates",
)
@pytest.mark.parametrize("kind", cases(), ids=str)
def test_what_a_path_does_is_told_and_nothing_else_of_it(
    site: Site, kind: Kind, tmp_path: Path
) -> None:
    rules, test = cases()[kind]
    found = kinds_of(site, rules, test, tmp_path)
    assert kind in found, found
    others = {Kind.DELIVERY_OVERTAKEN} if kind is Kind.DELIVERY_AGAIN else set[Kind]()
    assert found & cases().keys() <= {kind} | others


@pytest.mark.produces("unscaled-window")
def test_windows_that_are_not_scaled_are_told_with_the_host_and_not_as_a_small_buffer(
    site: Site, tmp_path: Path
) -> None:
    """65,535 bytes per round trip of 50 ms are 10.5 Mbit/s, half of what the cable carries."""
    far = ["do=delay,way=ab,ms=50"]
    with setting(RECEIVER, "net.ipv4.tcp_window_scaling=0")(site, 0):
        found = {each.kind: each for each in findings_of(site, far, TCP, tmp_path)}
    assert found[Kind.UNSCALED_WINDOW].words["at_host"] == RECEIVER
    assert Kind.BUFFER_LIMIT_RECEIVER not in found


@pytest.mark.parametrize("test", [TRIPS, TCP, UDP], ids=["trips", "tcp", "udp"])
def test_a_path_that_does_nothing_has_no_finding_of_this_kind(
    site: Site, test: Mapping[str, Any], tmp_path: Path
) -> None:
    assert not kinds_of(site, [FAR], test, tmp_path) & cases().keys()


@pytest.mark.produces("longer-path/trials")
def test_a_path_that_is_longer_in_some_trials_is_told_with_these(tmp_path: Path) -> None:
    only = {"where": "path", "what": "delay", "when": "trials"}
    planned = max(chosen(drawn("1"), only, 0), key=lambda planned: planned.parts[0].share)
    measure(planned, tmp_path)
    found = load(tmp_path / planned.name / RUN).findings
    assert any(finding.kind is Kind.LONGER_PATH_TRIALS for finding in found), planned
