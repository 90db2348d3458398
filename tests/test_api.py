"""netlab's functions in Python, on this machine."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import netlab
from netlab.errors import IncompleteRun, MatrixError, StoreError, UsageError

MATRIX = """\
title: A look
pairings: [here+here]
hosts:
  here: {os: L, local: true, addresses: {loopback: 127.0.0.1}}
defaults: {duration: 0.2s, warm_up: 0.05s}
tests:
  - test: stream
    protocol: [TCP, UDP]
    message_size: [1472]
"""


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.lab
def test_importing_netlab_imports_no_heavy_library() -> None:
    heavy = {"pandas", "paramiko", "click", "matplotlib"}
    words = f"import sys, netlab; print(*{heavy} & set(sys.modules))"
    process = subprocess.run(
        [sys.executable, "-c", words], capture_output=True, text=True, check=True
    )
    assert process.stdout.strip() == ""


def test_an_unknown_name_of_netlab_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'mesure'"):
        getattr(netlab, "mesure")  # noqa: B009  # the type checker would see it
    from netlab import runner

    assert callable(netlab.run)
    assert callable(netlab.measure)
    assert runner.__name__ == "netlab.runner"


@pytest.mark.lab
def test_measure_returns_a_run_and_stores_its_folder(capfd: pytest.CaptureFixture[str]) -> None:
    run = netlab.measure(protocol="UDP", size="1KiB", seconds=3)
    (record,) = run.latest.values()
    assert record.settings["message_bytes"] == 1024
    assert run.frame["throughput_bit_per_s"].iloc[0] == record.values["throughput_bit_per_s"]
    (folder,) = Path("runs").iterdir()
    assert netlab.load(folder).records == run.records
    out, err = capfd.readouterr()
    assert out == ""
    assert re.search(r"^ +0\.0 to +\d+\.\d s  ", err, re.MULTILINE), err


@pytest.mark.lab
def test_a_quiet_measure_of_round_trips_prints_nothing_and_stores_the_named_folder(
    capfd: pytest.CaptureFixture[str],
) -> None:
    run = netlab.measure(latency=True, seconds=0.2, into="trips", quiet=True)
    assert capfd.readouterr() == ("", "")
    assert {record.test for record in run.records} == {"round_trip"}
    assert netlab.load("trips").records == run.records


@pytest.mark.lab
def test_a_second_run_into_a_complete_folder_measures_nothing_again(
    capfd: pytest.CaptureFixture[str],
) -> None:
    Path("look.yaml").write_text(MATRIX)
    first = netlab.run("look.yaml", only=["here+here"], settings={"repeats": "2"}, into="one")
    assert [record.status for record in first.latest.values()] == ["ok"] * 4
    capfd.readouterr()
    again = netlab.run("look.yaml", settings={"repeats": "2"}, into="one", check=True, quiet=True)
    assert capfd.readouterr() == ("", "")
    assert again.records == first.records


@pytest.mark.lab
def test_pending_cells_are_in_the_run_and_raise_an_error_if_checked() -> None:
    Path("look.yaml").write_text(MATRIX.replace("[here+here]", "[here+here, WL]"))
    run = netlab.run("look.yaml", into="one")
    statuses = [record.status for record in run.latest.values()]
    assert statuses == ["ok", "ok", "pending", "pending"]
    assert "2 pending" in repr(run)
    with pytest.raises(IncompleteRun, match="2 pending"):
        netlab.run("look.yaml", into="one", check=True)


def test_an_error_in_a_matrix_is_raised_with_its_place() -> None:
    Path("odd.yaml").write_text(MATRIX.replace("[TCP, UDP]", "TPC"))
    with pytest.raises(MatrixError, match=r"odd\.yaml:8:\d+: .*did you mean `TCP`"):
        netlab.run("odd.yaml")


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ({"size": "1 furlong"}, "furlong"),
        ({"link": "fast"}, "fast"),
        ({"server": "no such host"}, "no such host"),
    ],
)
def test_netlab_measure_with_an_invalid_value_is_a_usage_error(
    question: dict[str, str], sentence: str
) -> None:
    with pytest.raises(UsageError, match=sentence):
        netlab.measure(**question)  # type: ignore[arg-type]  # strings all


def test_missing_and_damaged_files_raise_the_documented_errors() -> None:
    with pytest.raises(UsageError, match="there is no such folder"):
        netlab.load("nothing")
    Path("bad").mkdir()
    Path("bad/run.json").write_text("{")
    with pytest.raises(StoreError):
        netlab.load("bad")
    with pytest.raises(UsageError, match="no shipped matrix of that name"):
        netlab.run("no-such-matrix")


UNDER_LOAD = """\
title: Latency under load
pairings: [here+here]
hosts:
  here: {os: L, local: true, addresses: {loopback: 127.0.0.1}}
defaults: {duration: 1s, idle: 1s, after: 1s, request_timeout: 500ms}
tests:
  - {test: latency_under_load, load: {direction: both, streams: 2}, connect_rate: 10}
  - test: latency_under_load
    load: {protocol: UDP, rate: 10Mbit, message_size: 1472}
    request_protocol: TCP
    connect_rate: none
"""


@pytest.mark.lab
def test_latency_under_load_of_real_probes_accounts_for_every_request() -> None:
    Path("load.yaml").write_text(UNDER_LOAD)
    run = netlab.run("load.yaml", into="loaded", quiet=True)
    # A busy machine may stop the data of a trial, which is then measured again.
    records = list({record.cell: record for record in run.records}.values())
    assert [record.status for record in records] == ["ok", "ok"], [e.detail for e in records]
    for record in records:
        values = record.values
        trips, lost_trips = values["trip_ns"], values["lost_trips"]
        assert isinstance(trips, list | tuple)
        assert isinstance(lost_trips, list | tuple)
        # 100 a second for the three phases, a time-out and half a second.
        assert len(trips) + len(lost_trips) == 400 == values["client_sent_messages"]
        assert sum(trips) == values["client_rtt_sum_ns"]
        assert len(lost_trips) == values["client_lost_messages"]
        # A busy machine loses some.
        assert 0 < values["idle_rtt_count"] <= 100  # type: ignore[operator]
        assert 0 < values["loaded_rtt_count"] <= 51  # type: ignore[operator]
        edges = ("idle_open", "load_open", "settled", "load_close", "drained", "after_close")
        times = [values[f"{name}_ns"] for name in edges]
        assert times == sorted(times)
        assert values["load_close_ns"] - values["load_open_ns"] == 1_000_000_000  # type: ignore[operator]
        assert values["increase_ns"] == values["loaded_rtt_p50_ns"] - values["idle_rtt_p50_ns"]  # type: ignore[operator]
    both_ways, udp = records
    assert both_ways.values["to_server_throughput_bit_per_s"] > 1e6  # type: ignore[operator]
    assert both_ways.values["to_client_throughput_bit_per_s"] > 1e6  # type: ignore[operator]
    assert 0 < both_ways.values["idle_connections"] <= 11  # type: ignore[operator]
    assert "idle_connections" not in udp.values
    assert udp.values["throughput_bit_per_s"] < 50e6  # type: ignore[operator]
    assert run.frame["increase_ns"].tolist() == [e.values["increase_ns"] for e in records]
