"""A throughput search between real agents finds the highest rate without loss."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from faulty_probe import faulty_probe
from made_findings import plan_of, run_of
from paths import Inside, needs_namespaces

from netlab.build.binaries import local_probe
from netlab.ethernet import frames_per_s
from netlab.experiment.cells import Cell
from netlab.experiment.hosts import Host
from netlab.experiment.schedule import Trial
from netlab.findings.finding import Kind
from netlab.kinds import ThroughputSearch
from netlab.kinds.throughput_search.rate_search import VERDICTS
from netlab.lab import network
from netlab.lab.plan import LabOptions, make_plan
from netlab.measurement.ends import Ends
from netlab.measurement.engines import measure
from netlab.measurement.search_trial import LineRate, OfferedLoad, TrialRunner
from netlab.remote.agent import Agent
from netlab.store.plan import PlannedCell
from netlab.trial.record import Record, Status, to_json

__all__ = ["faulty_probe"]

LINE_BIT_PER_S = 10e6
"""So slow that what holds this machine up for two milliseconds costs none of it: the bucket of a
shaped cable is two frames deep."""
DEVICE_BIT_PER_S = 0.4 * LINE_BIT_PER_S
STEP = 0.05
BURST = 500
"""Frames that a sender which this busy machine held up may catch up by."""


def setup_of(**settings: Any) -> ThroughputSearch:
    short = {"resolution": STEP, "residual_s": 0.3, "settle_s": 0.0, "burst": BURST}
    return ThroughputSearch(**{"duration_s": 1.0, **short, **settings})


def search(ends: Ends, **settings: Any) -> Record:
    cell = Cell(pairing="LL", test="throughput_search", setup=setup_of(**settings))
    record = measure(Trial(cell, 1), ends, 1, lambda _cell, _rate: None)
    to_json(record)
    return record


@contextmanager
def routed(*, observe: bool = False, client: Sequence[str] = (), **wish: Any) -> Iterator[Ends]:
    """Two agents on the cables of a router, and one in it where it is to be observed; everything is
    gone afterwards. ``client``: the words that start another probe there than that of this machine.
    """
    # A busy machine catches up with long bursts, which a short queue would drop.
    deep = {"device_queue_frames": 1000} if wish else {}
    options = LabOptions(name=f"s{os.getpid()}", topology="router", **{**deep, **wish})
    options.check()
    plan = make_plan(
        options,
        Path("/nonexistent"),
        routes=network.routed_networks(),
        taken_slots=network.slots_in_use(),
    )
    network.refuse_taken_names(plan)
    with ExitStack() as stack:
        stack.callback(network.remove, plan)
        network.make(plan)
        agents = []
        for host, words in zip(plan.hosts, (client, ()), strict=True):
            agents.append(_agent(host.name, host.namespace, host.addresses, words))
            stack.callback(agents[-1].close)
            agents[-1].greet(None)
        sender, server = agents
        ends = Ends(server=server, client=sender, same_host=False, link_rate_bit_per_s=options.rate)
        if not observe:
            yield ends
            return
        assert plan.router is not None
        router = _agent("router", plan.router, ())
        stack.callback(router.close)
        router.greet(None)
        yield replace(ends, observed=(router,))


def limited(**more: Any) -> dict[str, Any]:
    """A router that forwards two fifths of what its cables carry."""
    return {"rate": LINE_BIT_PER_S, "device_rate": DEVICE_BIT_PER_S, **more}


def _agent(
    name: str, namespace: str, addresses: tuple[str, ...], words: Sequence[str] = ()
) -> Agent:
    of = Host(name=name, os="L", local=True, addresses={"test": addresses})
    transport = Inside(of, namespace)
    return Agent(of, transport, transport.start([*(words or [str(local_probe())]), "agent"]))


def check(record: Record, share: float, step: float = STEP) -> None:
    """Check that it is within a step of ``share``, with an upper bound and trials of both."""
    assert record.status is Status.OK, record.detail
    values: Any = record.values
    assert values["line_share"] == pytest.approx(share, abs=step * 1.001), values
    line = frames_per_s(values["line_rate_bit_per_s"], record.settings["frame_bytes"])  # type: ignore[arg-type]
    assert values["frames_per_s"] == pytest.approx(values["line_share"] * line)
    assert values["limit"] == "device"
    assert values["upper_line_share"] > values["line_share"]
    verdicts = [VERDICTS[number] for number in values["trial_verdict"]]
    assert values["trial_line_share"][0] == 1.0
    # A trial in which our own sender was delayed is repeated.
    device_verdicts = [verdict for verdict in verdicts if verdict != "generator-bound"]
    assert device_verdicts[0] in ("lost", "absorbed")
    confirmed = [
        verdict
        for verdict, at in zip(verdicts, values["trial_line_share"], strict=True)
        if at == values["line_share"]
    ]
    assert confirmed.count("passed") >= 2


class TestRouters:
    """A device that routes, with limits planted in it."""

    pytestmark: ClassVar = [*needs_namespaces, pytest.mark.night]

    @pytest.mark.parametrize(("share", "frame_bytes"), [(0.37, 512), (0.40, 1518), (0.61, 512)])
    def test_a_throughput_search_finds_the_planted_limit_of_a_router_within_a_step(
        self, share: float, frame_bytes: int
    ) -> None:
        step = 0.02
        with routed(rate=LINE_BIT_PER_S, device_rate=share * LINE_BIT_PER_S) as ends:
            check(search(ends, frame_bytes=frame_bytes, resolution=step), share, step)

    def test_a_throughput_search_over_a_fast_router_reaches_the_line_rate(self) -> None:
        # The cables are faster than the line rate, so that a short delay does not matter.
        with routed(rate=1.1 * LINE_BIT_PER_S) as wider:
            ends = replace(wider, link_rate_bit_per_s=LINE_BIT_PER_S)
            values = search(ends, frame_bytes=1518).values
            assert (values["limit"], values["line_share"]) == ("line rate", 1.0)
            assert "upper_line_share" not in values
            assert values["frames_per_s"] == frames_per_s(LINE_BIT_PER_S, 1518)
            assert values["line_rate_from"] == "link"

    def test_a_throughput_search_does_not_mistake_a_long_queue_of_a_router_for_throughput(
        self,
    ) -> None:
        """A queue of 10,000 frames loses none in a trial of 1 s, but forwards no more."""
        with routed(**limited(device_queue_frames=10_000)) as ends:
            record = search(ends, frame_bytes=1518, residual_s=2.0)
            check(record, 0.4)
            verdicts = {VERDICTS[int(number)] for number in record.values["trial_verdict"]}  # type: ignore[union-attr]
            assert "absorbed" in verdicts
            assert "lost" not in verdicts

    @pytest.mark.parametrize("direction", ["server-sends", "both"])
    def test_a_throughput_search_finds_the_limit_if_the_server_or_both_ends_send(
        self, direction: str
    ) -> None:
        with routed(**limited()) as ends:
            settings = {"direction": direction, "streams": 2}
            check(search(ends, frame_bytes=1024, **settings), 0.4)

    def test_the_frame_loss_above_the_limit_is_the_share_that_the_router_cannot_forward(
        self,
    ) -> None:
        with routed(**limited(device_queue_frames=5)) as ends:
            # A burst of ours would overflow so short a queue.
            values: Any = search(ends, frame_bytes=1518, frame_loss=True, burst=2).values
        shares = values["loss_line_share"]
        assert shares[0] == 1.0
        assert shares == [tenths / 10 for tenths in range(10, 10 - len(shares), -1)]
        rows = zip(shares, values["loss_sent_frames"], values["loss_received_frames"], strict=True)
        for share, sent_frames, received_frames in rows:
            if share > 0.5:
                assert 1 - received_frames / sent_frames == pytest.approx(1 - 0.4 / share, abs=0.05)
        losses = [
            sent_frames - received_frames
            for sent_frames, received_frames in zip(
                values["loss_sent_frames"], values["loss_received_frames"], strict=True
            )
        ]
        assert losses[-2:] == [0, 0] or shares[-1] == 0.1

    def test_a_throughput_search_over_ipv6_finds_the_limit_of_a_router(self) -> None:
        with routed(**limited()) as ends:
            check(search(ends, frame_bytes=1518, ip_version=6), 0.4)


@needs_namespaces[0]
def test_every_frame_of_a_load_through_a_slow_router_is_counted() -> None:
    with routed(**limited(device_queue_frames=5)) as ends:
        setup = setup_of(frame_bytes=1518)
        cell = Cell(pairing="LL", test="throughput_search", setup=setup)
        line = LineRate(DEVICE_BIT_PER_S, "setting", frames_per_s(DEVICE_BIT_PER_S, 1518))
        runner = TrialRunner(setup, cell, ends, lambda _cell, _totals: None, line)
        outcome = runner.offer(OfferedLoad(400, 800.0, 0.5))
        (counts,) = outcome.accounts
        assert counts.sent == 400
        assert 0 < counts.received < 400
        assert counts.lost == 400 - counts.received
        assert counts.own_drops == 0
        # A sender that is held up makes it less, and a receiver more.
        assert counts.received_per_s() == pytest.approx(
            frames_per_s(DEVICE_BIT_PER_S, 1518), rel=0.8
        )


@needs_namespaces[0]
@pytest.mark.needs("cc")
@pytest.mark.produces("search-doubt/paused")
def test_pause_frames_that_a_card_counts_during_a_search_are_a_doubt_about_it(
    faulty_probe: Path,
) -> None:
    words = ["env", "FAULTY=pause", str(faulty_probe)]
    with routed(client=words, rate=1.1 * LINE_BIT_PER_S) as wider:
        record = search(replace(wider, link_rate_bit_per_s=LINE_BIT_PER_S), frame_bytes=1518)
    assert record.status is Status.OK, record.detail
    paused = of(record, "client_pause_frames_received")
    assert paused > 0
    assert "server_pause_frames_received" not in record.values
    cell = PlannedCell(record.cell, "LL", record.test, record.settings)
    findings = run_of(plan_of([cell]), [record]).findings
    (doubt,) = [finding for finding in findings if finding.kind is Kind.SEARCH_DOUBT_PAUSED]
    assert doubt.evidence["pause_frames"] == paused + of(record, "client_pause_frames_sent")


@pytest.fixture(scope="module")
def observed() -> Record:
    """A search with the standard's other tests, through an observed router that forwards two fifths
    of the line rate and has a queue of 20 frames.
    """
    with routed(observe=True, **limited(device_queue_frames=20)) as ends:
        settings = {"resolution": 0.1, "burst": 10, "duration_s": 0.5}
        return search(ends, frame_bytes=1518, latency=True, back_to_back=2, **settings)


@needs_namespaces[0]
def test_a_throughput_search_through_a_slow_router_ends_at_the_limit_of_the_router(
    observed: Record,
) -> None:
    assert observed.status is Status.OK, observed.detail
    assert observed.values["limit"] == "device"
    assert observed.values["limit_host"] == observed.values["observed_1_host"] == "router"
    assert observed.values["limit_core"] in range(os.cpu_count() or 1)
    assert 0 <= of(observed, "limit_core_share") <= 1


@needs_namespaces[0]
def test_a_throughput_search_stores_the_effective_settings_of_both_ends(observed: Record) -> None:
    assert of(observed, "sender_send_buffer_bytes") > 0
    assert of(observed, "receiver_receive_buffer_bytes") > 0
    assert observed.values["sender_send_method"] == "plain"
    assert observed.values["receiver_receive_method"] == "blocking"


@needs_namespaces[0]
def test_a_throughput_search_stores_the_cpu_load_of_every_host_in_every_trial(
    observed: Record,
) -> None:
    values: Any = observed.values
    for host in ("client", "server", "observed_1"):
        assert 0 <= values[f"{host}_busy_share"] <= values[f"{host}_busiest_core_share"] <= 1
        assert len(values[f"trial_{host}_busiest_core_share"]) == len(values["trial_verdict"])
    assert values["one_machine"] is True
    assert not any("softnet" in name for name in values)


@needs_namespaces[0]
def test_every_lost_frame_of_a_search_is_counted_in_the_queue_of_the_router(
    observed: Record,
) -> None:
    values: Any = observed.values
    sent_frames, received_frames = (values[f"trial_{kind}_frames"] for kind in ("sent", "received"))
    drops = values["trial_observed_1_queue_dropped_frames"]
    assert sum(sent_frames) > sum(received_frames)
    for sent_count, received_count, queue in zip(sent_frames, received_frames, drops, strict=True):
        # The end markers of a stream are no frames of it.
        assert sent_count - received_count <= queue <= sent_count - received_count + 6
    assert values["observed_1_queue_dropped_frames"] == sum(drops)
    assert values["client_interface_dropped_frames"] == 0
    assert values["server_interface_dropped_frames"] == 0


@needs_namespaces[0]
def test_a_throughput_search_measures_latency_at_the_found_rate_and_at_lower_rates(
    observed: Record,
) -> None:
    values: Any = observed.values
    # A machine that is held up loses frames at some of them.
    shares = values["latency_found_share"] + values.get("latency_failed_share", [])
    assert sorted(shares) == [0.1, 0.5, 0.9, 1.0]
    assert all(count > 0 for count in values["latency_count"])
    times = [values[f"latency_{name}_ns"] for name in ("min", "mean", "max")]
    for least, mean, most in zip(*times, strict=True):
        assert 0 < least <= mean <= most


@needs_namespaces[0]
def test_back_to_back_bursts_through_a_slow_router_are_limited_by_the_router(
    observed: Record,
) -> None:
    values: Any = observed.values
    assert values["back_to_back_limit"] == "device"
    assert len(values["back_to_back_each_frames"]) == 2


@needs_namespaces[0]
@pytest.mark.night
def test_the_longest_burst_matches_the_queue_of_the_router(observed: Record) -> None:
    # While a burst of N frames came in, two fifths of it went out. The shaper itself lets two more
    # frames through at once.
    assert 0.6 * of(observed, "back_to_back_frames") == pytest.approx(22, abs=4)


def of(record: Record, name: str) -> float:
    value = record.values[name]
    assert isinstance(value, int | float)
    return value


class TestTesters:
    """Our own hosts as the limit are reported."""

    pytestmark: ClassVar = [*needs_namespaces, pytest.mark.night]

    def test_a_search_over_a_cable_faster_than_the_hosts_reports_the_hosts_as_the_limit(
        self,
    ) -> None:
        with routed() as ends:
            settings = {"duration_s": 0.2, "resolution": 0.1, "line_rate_bit_per_s": 400e9}
            record = search(ends, frame_bytes=1518, **settings)
            if record.status is Status.FAILED:
                assert record.reason == "tester-bound"
                assert "busiest core: CPU" in str(record.detail)
                return
            assert record.values["limit"] in ("generator-bound", "receiver-bound")
            assert record.values["limit_host"] in [agent.host.name for agent in ends_of(ends)]
            assert record.values["limit_core"] in range(os.cpu_count() or 1)
            assert record.values["line_rate_from"] == "setting"

    def test_a_sender_slower_than_the_line_rate_is_reported_as_generator_bound(self) -> None:
        """Its own cable carries two fifths of the line rate without loss."""
        with routed(rate=DEVICE_BIT_PER_S) as ends:
            # A short queue of its own: what waits there is not the device's. The receiver's, which
            # is as short, holds out for 40 ms.
            settings = {"line_rate_bit_per_s": LINE_BIT_PER_S, "socket_buffer_bytes": 16384}
            values = search(ends, frame_bytes=1518, **settings).values
            assert values["limit"] == "generator-bound"
            assert values["line_share"] == pytest.approx(0.4, abs=STEP)
            numbers: Any = values["trial_verdict"]
            assert not {"lost", "absorbed"} & {VERDICTS[number] for number in numbers}

    def test_the_sender_paces_itself_if_the_stated_line_rate_is_below_that_of_its_link(
        self,
    ) -> None:
        with routed(**limited()) as ends:
            slower = LINE_BIT_PER_S / 2
            record = search(ends, frame_bytes=1518, line_rate_bit_per_s=slower, duration_s=1.5)
            check(record, 0.8)
            sent_frames: Any = record.values["trial_sent_frames"]
            assert sent_frames[0] == pytest.approx(1.5 * frames_per_s(slower, 1518), abs=1)


def ends_of(ends: Ends) -> tuple[Agent, Agent]:
    return ends.agent_of_server, ends.client


@pytest.mark.lab
def test_a_throughput_search_uses_the_addresses_of_the_pairings_network() -> None:
    """The address of another network belongs to no host."""
    addresses = {"elsewhere": ("192.0.2.1",), "loop": ("127.0.0.1", "::1")}
    host = Host(name="here", os="L", local=True, addresses=addresses)
    with ExitStack() as stack:
        agents = [Agent.open(host) for _ in range(2)]
        for agent in agents:
            stack.callback(agent.close)
        ends = Ends(
            server=agents[0],
            client=agents[1],
            same_host=True,
            networks={"server": "loop", "client": "loop"},
        )
        settings = {"line_rate_bit_per_s": 1e6, "duration_s": 0.3, "resolution": 0.1}
        record = search(ends, frame_bytes=1518, **settings)
    # A loopback is faster than that line: our schedule paces, and every frame arrives.
    assert record.status is Status.OK, record.detail
    assert record.values["trial_received_frames"] == record.values["trial_sent_frames"]
