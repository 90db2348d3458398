"""``summary()``, ``core`` and ``plot()`` of a run: each axis, each cell with a result, no other."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import matplotlib as mpl
import pandas as pd
import pytest
from draws import chance, seeds
from folders import FIXTURES, REPORTS, ROOT
from made_runs import made_plan, made_record

import netlab
from netlab.errors import NetlabError
from netlab.kinds import KINDS
from netlab.report.notebook import LoadedRun
from netlab.results.columns import describe
from netlab.results.frame import summary_of
from netlab.results.layout import axis_names
from netlab.results.quantities import summary_columns
from netlab.stats import interval, mean
from netlab.store.plan import PlannedCell
from netlab.store.run_folder import RunFolder
from netlab.trial.record import Record, Status, Value

RUNS = sorted(file.parent for folder in (REPORTS, FIXTURES) for file in folder.rglob("run.json"))
NAMES = [str(run.relative_to(ROOT)) for run in RUNS]
FIGURES = {
    **{"cell": "string", "pairing": "string", "test": "string", "protocol": "string"},
    **{"quantity": "string", "unit": "string"},
    **{"n": "Int64", "mean": "Float64", "low": "Float64", "high": "Float64"},
}
ABSENT = object()
SIZE = {"throughput_search": "frame_bytes", "payload_search": "timeout_s"}
AXES: Mapping[str, Sequence[Value | None]] = {
    "socket_buffer_bytes": (None, 16384, 65536),
    "streams": (1, 4),
    "ip_version": (4, 6),
    "congestion": (None, "cubic", "bbr"),
    "nodelay": (None, True),
    "variant": (None, "tuned"),
    "some_new_setting": (None, 1, 2),
    "some_new_list": ([0, 1], [2]),
}
"""Settings that drawn cells may have, with ``None`` for a cell without the setting."""


@pytest.fixture(autouse=True)
def no_screen() -> Iterator[None]:
    backend = mpl.get_backend()
    mpl.use("Agg")
    yield
    from matplotlib import pyplot as plt

    plt.close("all")
    mpl.use(backend)


@cache
def recorded(run: Path) -> LoadedRun | None:
    """A recorded run; ``None`` if it cannot be read, as some in the fixtures."""
    try:
        return netlab.load(run)
    except NetlabError:
        return None


def readable(run: Path) -> LoadedRun:
    loaded = recorded(run)
    if loaded is None:
        pytest.skip("not a readable run")
    return loaded


def varied(cells: Sequence[PlannedCell]) -> set[str]:
    """The settings of which two cells have two values, or of which one of two cells with the same
    test and protocol has none.
    """
    levels: dict[str, set[str]] = {}
    kinds: dict[tuple[str, object, str], set[object]] = {}
    names = {name for cell in cells for name in cell.settings}
    for cell in cells:
        for name in names:
            value = cell.settings.get(name, ABSENT)
            kind = (cell.test, cell.settings.get("protocol"), name)
            kinds.setdefault(kind, set()).add(value is ABSENT)
            if value is not ABSENT:
                levels.setdefault(name, set()).add(json.dumps(value))
    several = {name for name, values in levels.items() if len(values) > 1}
    mixed = {name for (_, _, name), absences in kinds.items() if len(absences) > 1}
    return (several | mixed) - {"protocol"}


def figures_of(records: Sequence[Record]) -> dict[tuple[str, str], list[float]]:
    """(cell, quantity) → the figures of the trials with a result, from the records alone."""
    figures: dict[tuple[str, str], list[float]] = {}
    for record in records:
        for name in summary_columns(record.test):
            value = record.number(name)
            if value is not None:
                figures.setdefault((record.cell, name), []).append(value)
    return figures


def assert_complete(run: LoadedRun) -> None:
    """What holds for the summary and the core of every run."""
    axes, table = varied(run.plan.cells), run.summary()
    assert set(axis_names(run.plan.cells)) == axes
    if len(run.frame):
        assert axes <= set(table.columns)
    of_rows = {name for name in axes & set(run.frame.columns) if run.frame[name].notna().any()}
    assert of_rows <= set(run.core.columns)
    assert len(run.core) == len(run.frame)
    with_result = run.frame.loc[run.frame["status"] == "ok", "cell"]
    assert set(table["cell"]) == set(with_result)
    assert not table.duplicated(["cell", "quantity"]).any()
    assert list(dict.fromkeys(table["cell"])) == list(dict.fromkeys(with_result))


def dtypes_of(run: LoadedRun) -> Iterator[tuple[str, str]]:
    for name, dtype in run.summary().dtypes.items():
        yield f"summary {name}", str(dtype)
    for name, dtype in run.core.dtypes.items():
        yield f"core {name}", str(dtype)


@pytest.mark.parametrize("run", RUNS, ids=NAMES)
def test_the_summary_and_core_of_a_recorded_run_have_each_axis_and_each_cell_once(
    run: Path,
) -> None:
    assert_complete(readable(run))


def test_most_recorded_runs_are_readable_and_have_an_axis() -> None:
    runs = [loaded for run in RUNS if (loaded := recorded(run)) is not None]
    assert len(runs) > 0.8 * len(RUNS)
    assert sum(bool(varied(run.plan.cells)) for run in runs) >= 12
    assert {cell.test for run in runs for cell in run.plan.cells} >= KINDS.keys() - {"connect"}


@pytest.mark.parametrize("run", RUNS, ids=NAMES)
def test_a_plot_of_a_recorded_run_has_a_point_for_each_place_with_a_mean(run: Path) -> None:
    loaded = readable(run)
    table = loaded.summary().dropna(subset=["mean"])
    if table.empty:
        with pytest.raises(ValueError, match="there is no result to draw"):
            loaded.plot()
        return
    assert_drawn(loaded, table["quantity"].iloc[0])


def assert_drawn(run: LoadedRun, quantity: str) -> None:
    """The points of a chart are the means, or their means over the cells with the same place."""
    from matplotlib import pyplot as plt

    axes: Any = run.plot(y=quantity)
    table = run.summary()
    rows = table[(table["quantity"] == quantity) & table["mean"].notna()]
    keys = ["pairing", "test", axes.get_xlabel()]
    means = rows.groupby(keys, dropna=False)["mean"].mean()
    drawn = [y for bar in axes.containers for y in bar.lines[0].get_ydata()]
    assert sorted(drawn) == pytest.approx(sorted(means))
    assert axes.get_ylabel().startswith(quantity)
    low, high = axes.get_ylim()
    assert all(low <= value <= high for value in drawn)
    plt.close("all")


def test_a_column_of_summary_or_core_has_one_dtype_over_all_recorded_runs() -> None:
    dtypes: dict[str, set[str]] = {}
    for run in RUNS:
        loaded = recorded(run)
        for name, dtype in dtypes_of(loaded) if loaded else ():
            dtypes.setdefault(name, set()).add(dtype)
    assert {name: own for name, own in dtypes.items() if len(own) > 1} == {}
    assert {name: dtypes[f"summary {name}"] for name in FIGURES} == {
        name: {dtype} for name, dtype in FIGURES.items()
    }
    assert dtypes["core started_at"] == {"datetime64[us, UTC]"}


def drawn_cells(draw: Random) -> tuple[PlannedCell, ...]:
    """Cells of one to three kinds of test, each with some of the axes of ``AXES``."""
    cells: dict[str, PlannedCell] = {}
    for test in draw.sample([*KINDS], draw.randrange(1, 4)):
        axes = draw.sample([*AXES], draw.randrange(4))
        levels = {name: draw.sample(AXES[name], draw.randrange(1, 3)) for name in axes}
        for number in range(draw.randrange(1, 12)):
            settings: dict[str, Value | None] = {
                "protocol": draw.choice(["TCP", "UDP"]),
                SIZE.get(test, "message_bytes"): draw.choice([64, 1448]),
                **{name: draw.choice(own) for name, own in levels.items()},
            }
            given = {name: value for name, value in settings.items() if value is not None}
            pairing = draw.choice(["LL", "WL", "a+b"])
            key = f"{pairing}-{test}-{number}"
            cells[f"{pairing} {test} {given}"] = PlannedCell(key, pairing, test, given)
    return tuple(cells.values())


def drawn_run(folder: Path, draw: Random) -> tuple[LoadedRun, list[Record]]:
    """A run of such cells; a trial may be pending, failed, or lack some of its figures."""
    plan, records = made_plan(cells=drawn_cells(draw), repeats=4), []
    for cell in plan.cells:
        is_likely = draw.choice([0.0, 0.5, 1.0])
        for trial in range(1, draw.randrange(5) + 1):
            if draw.random() < 0.2:
                status = draw.choice([Status.FAILED, Status.IMPOSSIBLE])
                records.append(made_record(cell, trial, status=status, reason="no-buffers"))
                continue
            values: dict[str, Value] = {
                name: draw.choice([0.1, draw.uniform(1, 1e9)])
                if describe(name).dtype == "Float64"
                else draw.randrange(1 << 40)
                for name in summary_columns(cell.test)
                if draw.random() < is_likely
            }
            records.append(made_record(cell, trial, values=values))
    with RunFolder.open_for_writing(folder, plan) as writing:
        for record in records:
            writing.append(record, durable=False)
    return netlab.load(folder), records


@pytest.mark.parametrize("seed", seeds(20, 300))
def test_the_summary_of_a_drawn_run_is_computed_from_the_figures_of_its_records(
    tmp_path: Path, seed: int
) -> None:
    run, records = drawn_run(tmp_path / "run", chance(f"summary {seed}"))
    assert_complete(run)
    figures, table = figures_of(records), run.summary()
    assert {name: str(table[name].dtype) for name in FIGURES} == FIGURES
    for _, row in table.iterrows():
        own = figures.pop((row["cell"], row["quantity"]), [])
        assert (row["n"], row["unit"]) == (len(own), describe(row["quantity"]).unit)
        assert row["mean"] is pd.NA if not own else row["mean"] == mean(own)
        bounds = interval(own) if len(own) >= 3 else None
        assert row["low"] is pd.NA if bounds is None else row["low"] == bounds.low
        assert row["high"] is pd.NA if bounds is None else row["high"] == bounds.high
        settings = next(c for c in run.plan.cells if c.key == row["cell"]).settings
        for name in varied(run.plan.cells):
            value = settings.get(name)
            expected = json.dumps(value, separators=(",", ":")) if type(value) is list else value
            assert row[name] is pd.NA if expected is None else row[name] == expected
    assert figures == {}


@pytest.mark.parametrize("seed", seeds(12, 150))
def test_a_drawn_run_is_drawn_for_each_of_its_quantities(tmp_path: Path, seed: int) -> None:
    run, _ = drawn_run(tmp_path / "run", chance(f"plot {seed}"))
    measured = run.summary().dropna(subset=["mean"])
    for quantity in dict.fromkeys(measured["quantity"]):
        assert_drawn(run, quantity)


@pytest.mark.parametrize("test", KINDS)
def test_each_kind_of_test_has_its_headline_figures_in_the_summary_and_a_plot(
    tmp_path: Path, test: str
) -> None:
    size = SIZE.get(test, "message_bytes")
    cells = tuple(
        PlannedCell(f"{test}-{number}", "LL", test, {"protocol": "TCP", size: number})
        for number in (64, 128)
    )
    headline = KINDS[test].figure_columns()
    run = run_of(tmp_path, cells, dict.fromkeys(headline, 5))
    table = run.summary()
    for cell in cells:
        assert set(headline) <= set(table.loc[table["cell"] == cell.key, "quantity"])
    assert set(headline) <= set(run.core.columns)
    assert run.plot().get_xlabel() == size


def run_of(folder: Path, cells: tuple[PlannedCell, ...], values: Mapping[str, Value]) -> LoadedRun:
    with RunFolder.open_for_writing(folder / "run", made_plan(cells=cells, repeats=1)) as writing:
        for cell in cells:
            writing.append(made_record(cell, values=values), durable=False)
    return netlab.load(folder / "run")


def test_cells_with_and_without_a_setting_differ_in_their_rows_and_places(tmp_path: Path) -> None:
    cells = tuple(
        PlannedCell(
            f"cell-{size}",
            "LL",
            "stream",
            {
                "protocol": "TCP",
                "message_bytes": 64,
                **({} if size is None else {"socket_buffer_bytes": size}),
            },
        )
        for size in (65536, None, 4096)
    )
    run = run_of(tmp_path, cells, {"throughput_bit_per_s": 1e6})
    table = run.summary()
    assert list(table["socket_buffer_bytes"].fillna(0)) == [65536, 0, 4096]
    assert "socket_buffer_bytes" in run.core
    axes = run.plot()
    assert axes.get_xlabel() == "socket_buffer_bytes"
    words = [text.get_text() for text in axes.get_xticklabels()]
    assert words == ["4096", "65536", "auto"]


def test_a_plot_of_one_quantity_of_two_kinds_of_test_has_a_line_for_each_kind(
    tmp_path: Path,
) -> None:
    settings: Mapping[str, Value] = {"protocol": "TCP", "message_bytes": 64}
    cells = tuple(PlannedCell(test, "LL", test, settings) for test in ("round_trip", "connect"))
    run = run_of(tmp_path, cells, {"rtt_mean_ns": 1000.5})
    legend = run.plot(y="rtt_mean_ns").get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["LL, round_trip", "LL, connect"]


def test_a_negative_mean_is_inside_the_plot(tmp_path: Path) -> None:
    settings: Mapping[str, Value] = {"protocol": "TCP", "message_bytes": 64}
    cells = (PlannedCell("cell", "LL", "latency_under_load", settings),)
    axes = run_of(tmp_path, cells, {"increase_ns": -20_000}).plot()
    assert axes.get_ylim()[0] < -20_000


def test_a_cell_of_an_unknown_kind_of_test_has_a_row_for_each_known_figure(tmp_path: Path) -> None:
    cells = (PlannedCell("cell", "LL", "of_tomorrow", {"protocol": "TCP"}),)
    table = run_of(tmp_path, cells, {"frames_per_s": 2.5, "rtt_mean_ns": 7.0}).summary()
    assert dict(zip(table["quantity"], table["mean"], strict=True)) == {
        "rtt_mean_ns": 7.0,
        "frames_per_s": 2.5,
    }


def test_a_result_without_a_figure_has_a_row_without_a_mean(tmp_path: Path) -> None:
    cells = (PlannedCell("cell", "LL", "throughput_search", {"frame_bytes": 64}),)
    run = run_of(tmp_path, cells, {"line_frames_per_s": 148_809.5})
    table = run.summary()
    assert table[["cell", "quantity", "n"]].to_numpy().tolist() == [["cell", "frames_per_s", 0]]
    assert table[["mean", "low", "high"]].isna().all(axis=None)
    with pytest.raises(ValueError, match="there is no result to draw"):
        run.plot()


def test_start_times_with_and_without_a_fraction_are_both_times(tmp_path: Path) -> None:
    from dataclasses import replace

    plan = made_plan(repeats=1)
    texts = ("2026-01-31T12:00:00.250000Z", "2026-01-31T12:00:01Z")
    with RunFolder.open_for_writing(tmp_path / "run", plan) as writing:
        for cell, text in zip(plan.cells, texts, strict=False):
            writing.append(replace(made_record(cell), started_at=text), durable=False)
    times = netlab.load(tmp_path / "run").core["started_at"].dropna()
    assert [f"{at.isoformat()}" for at in times] == [
        "2026-01-31T12:00:00.250000+00:00",
        "2026-01-31T12:00:01+00:00",
    ]


CPU: Mapping[str, Value] = {
    "throughput_bit_per_s": 8e8,
    "sender_user_ns": 100_000_000,
    "sender_system_ns": 300_000_000,
    "sender_sent_bytes": 250_000_000,
    "receiver_user_ns": 200_000_000,
    "receiver_system_ns": 500_000_000,
    "receiver_received_bytes": 125_000_000,
}


def cpu_of(values: Mapping[str, Value], *, test: str = "stream", client: str = "beta") -> Any:
    from dataclasses import replace

    from netlab.results.rows import row_of

    cell = PlannedCell("cell", "LL", test, {"protocol": "UDP", "message_bytes": 64})
    record = replace(made_record(cell, values=values), client=client)
    row = row_of(cell, 1, record)
    return tuple(row.get(f"{end}_cpu_s_per_gbit") for end in ("sender", "receiver"))


def test_cpu_time_for_the_payload_is_user_and_system_seconds_per_gigabit() -> None:
    assert cpu_of(CPU) == pytest.approx((0.4 / 2.0, 0.7 / 1.0))
    assert describe("sender_cpu_s_per_gbit").unit == describe("receiver_cpu_s_per_gbit").unit
    assert describe("sender_cpu_s_per_gbit").unit == "s/Gbit"


def test_cpu_time_for_the_payload_is_absent_unless_it_is_of_one_end_and_one_flow() -> None:
    assert cpu_of(CPU, client="alpha") == (None, None)  # one process is both ends
    assert cpu_of(CPU, test="latency_under_load") == (None, None)  # the process also asks
    both = {f"to_server_{name}": value for name, value in CPU.items()}
    assert cpu_of(both) == (None, None)
    for name in ("sender_user_ns", "sender_system_ns", "sender_sent_bytes"):
        assert cpu_of({key: CPU[key] for key in CPU if key != name}) == (None, pytest.approx(0.7))
    assert cpu_of({**CPU, "receiver_received_bytes": 0}) == (pytest.approx(0.2), None)


def test_cpu_time_for_the_payload_is_in_the_core_and_summary_of_a_recorded_run() -> None:
    run = readable(REPORTS / "nettest-lab")
    (cell,) = [c for c in run.plan.cells if c.settings["protocol"] == "TCP"]
    trials = [record for record in run.trials if record.cell == cell.key]
    table = run.summary().set_index(["cell", "quantity"])
    for end, carried in (("sender", "sent_bytes"), ("receiver", "received_bytes")):
        own = []
        for record in trials:
            cpu_s = (record.values[f"{end}_user_ns"] + record.values[f"{end}_system_ns"]) / 1e9  # type: ignore[operator]
            own.append(cpu_s / (8 * record.values[f"{end}_{carried}"] / 1e9))  # type: ignore[operator]
        row: Any = table.loc[(cell.key, f"{end}_cpu_s_per_gbit")]
        assert (row["n"], row["unit"]) == (len(own), "s/Gbit")
        assert row["mean"] == pytest.approx(mean(own))
        of_cell = run.core[run.core["cell"] == cell.key]
        assert list(of_cell[f"{end}_cpu_s_per_gbit"]) == pytest.approx(own)


def frame_of(cells: int) -> pd.DataFrame:
    """The frame of a made run with three trials a cell."""
    from netlab.results.frame import make_frame

    rows = [
        {
            "cell": f"cell-{cell}",
            "pairing": "LL",
            "test": "stream",
            "protocol": "TCP",
            "message_bytes": cell,
            "status": "ok",
            "throughput_bit_per_s": float(cell + trial),
        }
        for cell in range(cells)
        for trial in range(3)
    ]
    return make_frame(rows, tests=["stream"])


def took_s(cells: int) -> float:
    frame = frame_of(cells)
    planned = [PlannedCell(f"cell-{n}", "LL", "stream", {"message_bytes": n}) for n in range(cells)]

    def once() -> float:
        begin = time.process_time()
        table = summary_of(frame, axis_names(planned))
        assert len(table) == cells
        return time.process_time() - begin

    return min(once() for _ in range(3))


def test_the_time_of_a_summary_grows_as_the_number_of_its_cells() -> None:
    assert took_s(8000) < 24 * took_s(1000)
