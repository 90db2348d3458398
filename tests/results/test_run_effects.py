"""What matters in a run: kinds, quantities and directions apart, and failures are no figures."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import product
from typing import Any

import pytest
from command_line import netlab
from draws import chance
from folders import ROOT
from made_readings import failure, planned, result

from netlab import load as load_for_python
from netlab.errors import UsageError
from netlab.findings.analysis import load
from netlab.report.sections.effects import as_text
from netlab.results.effects import KindEffects, kind_effects
from netlab.trial.record import Record

REPORTS = sorted(path.parent.name for path in ROOT.glob("reports/*/run.json"))


def streams(
    throughput: Any, pairings: Iterable[str] = ("LL",), seed: int = 1, **axes: Iterable[Any]
) -> list[Record]:
    """Trials of every combination; ``throughput``: of its settings in Mbit/s, ``None``: fails."""
    draw, trials = chance(seed), []
    for pairing, *levels in product(pairings, *axes.values()):
        settings = {"message_bytes": 1448, "protocol": "TCP"}
        settings |= dict(zip(axes, levels, strict=True))
        cell = planned("stream", pairing, **settings)
        figure = throughput(pairing=pairing, **settings)
        for trial in (1, 2, 3):
            if figure is None:
                trials.append(failure(cell, trial))
                continue
            flows = ("to_server_", "to_client_") if settings.get("direction") == "both" else ("",)
            bit_per_s = figure * 1e6 * draw.gauss(1, 0.01)
            values = {f"{flow}throughput_bit_per_s": bit_per_s for flow in flows}
            trials.append(result(cell, trial, values))
    return trials


def only(trials: list[Record], **asked: Any) -> KindEffects:
    (kind,) = kind_effects(trials, **asked)
    return kind


def shares(kind: KindEffects) -> dict[tuple[str, ...], float]:
    assert kind.effects is not None
    return {term.axes: term.share for term in kind.effects.terms}


@pytest.mark.parametrize("direction", ["client-sends", "server-sends"])
def test_the_sender_of_a_pairing_is_the_server_if_the_server_sends(direction: str) -> None:
    server_sends = direction == "server-sends"

    def slow_windows_sender(pairing: str, **_settings: Any) -> float:
        return 8.0 if pairing[0 if server_sends else 1] == "W" else 94.0

    pairings = ("LL", "LW", "WL", "WW")
    kind = only(streams(slow_windows_sender, pairings, direction=[direction]))
    assert shares(kind)["sender_system",] > 0.99
    assert kind.effects is not None
    (sender,) = (size for size in kind.effects.sizes if size.axis == "sender_system")
    means = {system: own[0] for system, own in sender.means.items()}
    assert means == pytest.approx({"L": 94.0, "W": 8.0}, rel=0.02)


def test_with_both_directions_the_sender_is_the_one_of_each_cell() -> None:
    def slow_windows_sender(pairing: str, direction: str, **_settings: Any) -> float:
        return 8.0 if pairing[direction != "server-sends"] == "W" else 94.0

    directions = ("client-sends", "server-sends")
    pairings = ("LL", "LW", "WL", "WW")
    kind = only(streams(slow_windows_sender, pairings, direction=directions))
    assert shares(kind)["sender_system",] > 0.99


@pytest.mark.parametrize("pairings", [("LL", "WW"), ("LW", "WL")])
def test_a_pairing_stays_whole_if_its_ends_vary_only_together(pairings: tuple[str, ...]) -> None:
    kind = only(streams(lambda **_: 90.0, pairings, streams=[1, 2]))
    assert kind.effects is not None
    assert kind.effects.axes == ("pairing", "streams")


def test_a_pairing_stays_whole_if_its_ends_are_not_the_same_in_each_direction() -> None:
    directions = ("client-sends", "server-sends")
    kind = only(streams(lambda **_: 90.0, ("LL", "LW"), direction=directions))
    assert kind.effects is not None
    assert kind.effects.axes == ("pairing", "direction")


def test_hosts_by_name_are_sender_and_receiver() -> None:
    hosts = ("a", "b", "c")
    pairings = [f"{server}+{client}" for server in hosts for client in hosts if server != client]
    kind = only(streams(lambda pairing, **_: 10.0 if pairing[0] == "b" else 90.0, pairings))
    assert kind.effects is not None
    assert kind.effects.axes == ("receiver", "sender")
    # b sends and receives at 10 Mbit/s as the server.
    assert kind.verdict.startswith("Receiver explains")


def test_protocols_kinds_of_test_and_directions_are_never_mixed() -> None:
    trials = streams(
        lambda protocol, **_: 1.0 if protocol == "UDP" else 90.0,
        protocol=["TCP", "UDP"],
        direction=["client-sends", "both"],
        message_bytes=[64, 1448],
        streams=[1, 2],
    )
    trip = planned("round_trip", server_receive="spinning")
    trials.append(result(trip, 1, {"rtt_mean_ns": 5e4}))
    found = {(kind.test, kind.protocol, kind.quantity): kind for kind in kind_effects(trials)}
    ways = ("throughput", "throughput to server", "throughput to client")
    assert found.keys() == {
        *product(["stream"], ["TCP", "UDP"], ways),
        ("round_trip", "UDP", "mean round trip"),
    }
    for (_test, protocol, _quantity), kind in found.items():
        if kind.effects is not None:
            assert kind.effects.axes == ("message_bytes", "streams")
            assert kind.effects.cells == 4
            means = [mean[0] for size in kind.effects.sizes for mean in size.means.values()]
            assert means == pytest.approx([1.0 if protocol == "UDP" else 90.0] * 4, rel=0.02)


def test_a_failure_leaves_its_cell_empty_and_is_no_figure() -> None:
    def figure(message_bytes: int, streams: int, **_settings: Any) -> float | None:
        return None if (message_bytes, streams) == (64, 2) else 90.0

    kind = only(streams(figure, message_bytes=[64, 576, 1448], streams=[1, 2, 4]))
    assert kind.effects is not None
    assert (kind.effects.cells, kind.effects.empty, kind.blank_cells) == (8, 1, 1)
    means = [mean[0] for size in kind.effects.sizes for mean in size.means.values()]
    assert means == pytest.approx([90.0] * len(means), rel=0.02)
    assert "empty: 1 of 9 combinations; planned cells without a figure: 1" in as_text([kind])


def test_a_setting_that_varies_only_with_another_one_is_no_axis() -> None:
    trials = streams(lambda **_: 90.0, message_bytes=[64, 1448], streams=[1, 2])
    for trial in trials:
        object.__setattr__(
            trial, "settings", {**trial.settings, "count": trial.settings["message_bytes"]}
        )
    kind = only(trials)
    assert kind.effects is not None
    assert kind.effects.axes == ("message_bytes", "streams")
    assert kind.follows == {"count": "message_bytes"}


@pytest.mark.parametrize(("scale", "is_log"), [(None, True), ("log", True), ("linear", False)])
def test_the_scale_is_logarithmic_unless_another_one_is_asked_for(scale: Any, is_log: bool) -> None:
    trials = streams(lambda **_: 90.0, message_bytes=[64, 1448], streams=[1, 2])
    kind = only(trials, scale=scale)
    assert kind.effects is not None
    assert kind.effects.logarithmic is is_log


def test_a_figure_of_0_makes_the_scale_linear_and_has_no_logarithm() -> None:
    trials = streams(lambda streams, **_: streams - 1.0, message_bytes=[64, 1448], streams=[1, 2])
    kind = only(trials)
    assert kind.effects is not None
    assert not kind.effects.logarithmic
    assert only(trials, scale="log").verdict == (
        "Not known: a figure of 0, or below it, has no logarithm."
    )


def test_a_quantity_that_the_run_does_not_have_is_refused_with_those_that_it_has() -> None:
    with pytest.raises(UsageError, match="--quantity frames: this run has throughput"):
        kind_effects(streams(lambda **_: 90.0), quantity="frames")


def test_nothing_matters_in_most_runs_whose_trials_only_scatter() -> None:
    # Each of three terms is above the noise in one run of 40.
    verdicts = []
    for seed in range(40):
        trials = streams(lambda **_: 90.0, seed=seed, message_bytes=[64, 1448], streams=[1, 2])
        verdicts.append(only(trials).verdict)
    assert verdicts.count("No setting makes a difference that is above the noise.") >= 34


@pytest.mark.parametrize("name", REPORTS)
def test_effects_of_recorded_runs_fit_80_columns_and_a_verdict_has_at_most_20_words(
    name: str,
) -> None:
    ended = netlab(ROOT, "effects", f"reports/{name}")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert max(map(len, ended.stdout.splitlines())) <= 80
    data = json.loads(netlab(ROOT, "effects", f"reports/{name}", "--json").stdout)
    kinds = kind_effects(load(ROOT / "reports" / name).trials)
    assert [kind["verdict"] for kind in data["kinds"]] == [kind.verdict for kind in kinds]
    for kind in kinds:
        assert len(kind.verdict.split()) <= 20
        if kind.effects is not None:
            assert sum(shares(kind).values()) == pytest.approx(1)


def test_the_tables_of_the_lab_report_say_how_far_systems_and_buffers_matter() -> None:
    tcp, udp = kind_effects(load(ROOT / "reports" / "lab-report").trials)
    assert tcp.verdict == (
        "Receiver’s system and sender’s system explain 97.5 % of the variation; "
        "message size and socket buffer the rest."
    )
    assert shares(tcp)["socket_buffer_bytes",] < 0.003
    # No UDP stream between two Windows hosts was measured.
    assert udp.effects is not None
    lost = [term.axes for term in udp.effects.terms if term.lost]
    assert lost == [("receiver_system", "sender_system")]
    for kind in (tcp, udp):
        assert kind.effects is not None
        assert kind.effects.degrees == 0
        assert "noise: not known, as no cell has two trials" in as_text([kind])


def test_a_run_loaded_in_python_has_its_effects() -> None:
    run = load_for_python(ROOT / "reports" / "latency-under-load-lab")
    assert run.effects == kind_effects(run.trials)
    assert run.effects[0].verdict.startswith("Congestion control explains")


def test_streams_within_one_host_have_effects_of_their_own() -> None:
    trials = streams(lambda **_: 90.0, ("LL", "WW"), message_bytes=[64, 1448], streams=[1, 2])
    for trial in trials:
        object.__setattr__(trial, "values", {**trial.values, "same_host": trial.pairing == "WW"})
    found = {kind.same_host: kind.effects for kind in kind_effects(trials)}
    assert {inside: own and own.axes for inside, own in found.items()} == {
        False: ("message_bytes", "streams"),
        True: ("message_bytes", "streams"),
    }


def test_a_run_with_fewer_than_two_axes_says_so() -> None:
    text = netlab(ROOT, "effects", "reports/nettest").stdout
    assert text.count("fewer than two settings vary") == 3
