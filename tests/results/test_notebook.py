"""A notebook shows a run as text, as a small table and as a chart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import matplotlib as mpl
import pytest
from folders import ROOT
from made_parts import Make

import netlab
from netlab.cli import cli
from netlab.report.notebook import LoadedRun
from netlab.results.columns import CORE
from netlab.results.frame import present
from netlab.results.quantities import core_names
from netlab.results.tcp_series import TCP_SERIES, frame_of_series
from netlab.stats import interval

RUNS = ROOT / "reports"


@pytest.fixture(autouse=True)
def no_screen() -> Iterator[None]:
    backend = mpl.get_backend()
    mpl.use("Agg")
    yield
    from matplotlib import pyplot as plt

    plt.close("all")
    mpl.use(backend)


@cache
def recorded(name: str) -> LoadedRun:
    return netlab.load(RUNS / name)


@pytest.mark.parametrize("name", ["lab-report", "nettest", "connection-kinds", "payload-lab"])
def test_a_run_prints_its_answer_and_shows_a_small_table_in_a_notebook(name: str) -> None:
    run = recorded(name)
    lines = repr(run).splitlines()
    assert len(lines) <= 25
    assert run.plan.title in lines[0]
    assert str(run.answer.verdicts[0].sentence)[:60] in " ".join(lines)
    assert lines[-1].startswith("see .answer, .summary()")
    html = run._repr_html_()
    assert "<table" in html or run.summary().empty
    assert len(html) < 100_000


def test_a_run_title_with_script_tags_is_escaped_in_a_notebook(make: Make) -> None:
    from netlab.report.text.findings import in_english

    plan = recorded("nettest").plan
    run = make(replace(plan, title="<script>alert(1)</script>", source=None), [])
    html = LoadedRun(run.stored, in_english)._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_the_summary_has_the_mean_and_interval_of_each_cell() -> None:
    run = recorded("nettest")
    table = run.summary()
    of_udp = table[table["protocol"] == "UDP"].iloc[0]
    frame = run.frame
    values = [float(value) for value in frame[frame["protocol"] == "UDP"]["throughput_bit_per_s"]]
    reference = interval(values)
    assert (of_udp["n"], of_udp["unit"]) == (15, "bit/s")
    assert of_udp["mean"] == pytest.approx(reference.mean)
    assert of_udp["low"] == pytest.approx(reference.low)
    assert of_udp["high"] == pytest.approx(reference.high)


def test_the_summary_lists_only_cells_with_a_result_and_no_interval_for_single_trials() -> None:
    run = recorded("lab-report")
    table = run.summary()
    ok = run.frame[run.frame["status"] == "ok"]
    assert len(table) == ok["cell"].nunique()
    assert table["low"].isna().all()


def test_the_core_table_has_at_most_30_columns_with_the_dtypes_of_the_frame_and_times() -> None:
    run = recorded("udp-mirror-lab-unshaped")
    names = core_names(run.plan.cells)
    assert list(run.core.columns) == present(run.frame, names)
    assert set(CORE) < set(names)
    assert len(run.core.columns) <= 30
    assert len(run.core) == len(run.frame)
    dtypes = {name: str(dtype) for name, dtype in run.core.dtypes.items()}
    assert dtypes.pop("started_at") == "datetime64[us, UTC]"
    assert dtypes == {name: str(run.frame[name].dtype) for name in dtypes}


def test_a_plot_has_one_line_per_level_and_its_title_names_the_pooled_settings() -> None:
    axes = recorded("lab-report").plot(x="message_bytes", hue="pairing")
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["LL", "WL", "LW", "WW"]
    assert axes.get_xlabel() == "message_bytes"
    assert "means over protocol, socket_buffer_bytes" in axes.get_title()
    single_axes = recorded("udp-mirror-lab-unshaped").plot(hue="protocol", y="rtt_mean_ns")
    assert single_axes.get_ylabel().startswith("rtt_mean_ns, ns")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"x": "colour"}, "'colour' is no column to draw by; there are cell, pairing, test"),
        ({"hue": "n"}, "'n' is no column to draw by"),
        ({"y": "frames_per_s"}, "'frames_per_s' was not measured; there are throughput_bit_per_s"),
    ],
)
def test_a_plot_by_an_unknown_or_unmeasured_column_is_refused_with_the_known_columns(
    words: dict[str, str], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        recorded("lab-report").plot(**words)


def test_a_tcp_series_is_a_table_with_one_row_per_sample() -> None:
    values: dict[str, object] = {
        "sender_tcp_series_time_us": [10, 20, 30],
        "sender_tcp_series_rtt_us": [5, 6, 7],
        "sender_tcp_series_cwnd_bytes": [1, 2],  # damaged: of another length
    }
    assert set(values) <= {f"sender_{name}" for name in TCP_SERIES}
    frame = frame_of_series(values)
    assert frame.to_dict("list") == {"time_s": [1e-5, 2e-5, 3e-5], "rtt_us": [5, 6, 7]}
    assert frame_of_series({}).empty
    run = recorded("lab-report")
    with pytest.raises(KeyError):
        run.series("no such cell")


def test_an_export_of_core_columns_has_the_core_columns_in_order(tmp_path: Path) -> None:
    from click.testing import CliRunner

    outcome = CliRunner().invoke(cli, ["export", str(RUNS / "nettest"), "--columns", "core"])
    head = outcome.stdout.splitlines()[0].split(",")
    assert head == list(recorded("nettest").core.columns)
    assert "throughput_bit_per_s" in head
    assert len(outcome.stdout.splitlines()) == 36
