"""An old output of another tool is imported, and a new run is compared with it and checked."""

from __future__ import annotations

import re
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from made_readings import planned
from made_streams import netlab, run_of

from netlab.compare.check import check
from netlab.compare.runs import agreement, compare_runs
from netlab.findings.analysis import Analysis, load
from netlab.imports import importer
from netlab.kinds import FIELDS
from netlab.store.plan import Plan, PlannedCell
from netlab.trial.record import Record

SAMPLES = Path(__file__).parent / "samples"
TOOLS = ("flent", "iperf2", "iperf3", "neper", "netperf", "ntttcp", "nuttcp", "sockperf")
WITHOUT_A_TEST = {
    "iperf3-refused.client.json",
    "netperf-interval.txt",
    "netperf-omni-latency.txt",
}
MATRIX = "pairings: [LL]\ntests: [{test: stream, protocol: TCP, message_size: 1448}]\n"
SAMPLE_IPERF3 = SAMPLES / "iperf3" / "iperf3-tcp.client.json"


@pytest.fixture(scope="module")
def old_runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Analysis]:
    """Each sample of each tool as a run of its own."""
    runs = {}
    for tool in TOOLS:
        for file in sorted((SAMPLES / tool).iterdir()):
            if file.name in WITHOUT_A_TEST:
                continue
            into = tmp_path_factory.mktemp("old") / file.name
            runs[f"{tool}/{file.name}"] = load(importer(tool).read((file,), into))
    return runs


def measured_as(run: Analysis, path: Path) -> Analysis | None:
    """A run of netlab with the settings that an import states, and the defaults of the others."""
    cells: list[tuple[PlannedCell, list[Record]]] = []
    for old in run.plan.cells:
        if old.settings["protocol"] not in ("TCP", "UDP"):
            return None  # pings by ICMP
        known: dict[str, Any] = {
            name: value for name, value in old.settings.items() if name in FIELDS[old.test]
        }
        if "count" in known:
            known["duration_s"] = None
        records = [record for record in run.records if record.cell == old.key]
        cells.append((planned(old.test, **known), records))
    if len({cell.key for cell, _records in cells}) < len(cells):
        return None
    return run_of(
        path,
        *((cell, [record.values for record in records]) for cell, records in cells),
        link=None,
        matrix_text=MATRIX,
    )


def test_a_run_with_the_settings_that_an_old_output_states_is_comparable_with_its_import(
    old_runs: dict[str, Analysis], tmp_path: Path
) -> None:
    seen = set()
    for number, (name, old) in enumerate(old_runs.items()):
        new = measured_as(old, tmp_path / str(number))
        if new is None:
            continue
        for one, other in ((old, new), (new, old)):
            compared = compare_runs(one, other)
            assert compared.differences == (), name
            keys = {row.aligned.cells[0] for row in compared.rows}
            assert keys == {cell.key for cell in one.plan.cells}, name
            checked = check(other, one)
            assert {judgement.verdict for judgement in checked.judgements} <= {
                "met",
                "cannot be judged",
            }
            assert checked.remarks == compared.remarks[: len(checked.remarks)] != (), name
        seen.add(name.partition("/")[0])
    # Files of flent have pings by ICMP, which netlab does not measure.
    assert seen == {*TOOLS} - {"flent"}


def stated(plan: Plan) -> dict[str, object]:
    """What the only cell of an import states, besides its kind and protocol."""
    (cell,) = plan.cells
    server, _, client = cell.pairing.partition("+")
    ends = {role: name for role, name in (("server", server), ("client", client)) if name != role}
    settings = {name: value for name, value in cell.settings.items() if name != "protocol"}
    return {**ends, **settings}


def test_the_imports_of_two_tools_are_refused_only_for_what_both_outputs_state(
    old_runs: dict[str, Analysis],
) -> None:
    plans = [run.plan for run in old_runs.values() if len(run.plan.cells) == 1]
    comparable = refused = 0
    for old, new in permutations(plans, 2):
        kinds = {(plan.cells[0].test, plan.cells[0].settings["protocol"]) for plan in (old, new)}
        one, other = stated(old), stated(new)
        contradicts = any(one[name] != other[name] for name in one.keys() & other.keys())
        if len(kinds) == 1:
            assert bool(agreement(old, new).differences) == contradicts
            comparable, refused = comparable + (not contradicts), refused + contradicts
    assert comparable > 20
    assert refused > 20


def three_outputs(folder: Path) -> Path:
    """An output of iperf3 three times: as of three tests with slightly different rates."""
    text = SAMPLE_IPERF3.read_text(encoding="utf-8")
    folder.mkdir()
    for number in range(3):
        cookie = re.sub(r'("cookie":\s*")(.{6})', rf"\g<1>trial{number}", text)
        rate = re.sub(r'("bits_per_second":\s*\d+)\.\d+', rf"\g<1>.{number}", cookie)
        (folder / f"{number}.json").write_text(rate, encoding="utf-8")
    return folder


def test_netlab_check_holds_a_measured_run_against_an_imported_one_with_its_exit_codes(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    outputs = three_outputs(tmp_path / "outputs")
    old = tmp_path / "old"
    assert netlab(capfdbinary, "import", "iperf3", str(outputs), "--into", str(old))[0] == 0
    imported = load(old)
    (cell,) = imported.plan.cells
    mbit_per_s = 1e-6 * float(str(imported.records[0].values["throughput_bit_per_s"]))
    known: dict[str, Any] = {
        name: value for name, value in cell.settings.items() if name in FIELDS["stream"]
    }
    for name, streams, share in (("same", 1, 1.0), ("slower", 1, 0.5), ("streams", 4, 1.0)):
        values = [
            {"throughput_bit_per_s": share * (1e6 * mbit_per_s + trial)} for trial in range(3)
        ]
        measured = planned("stream", **{**known, "streams": streams})
        run_of(tmp_path / name, (measured, values), link=None, matrix_text=MATRIX)

    def checked(name: str, *more: str) -> tuple[int, str, str]:
        words = ("check", str(tmp_path / name), "--baseline", str(old), *more)
        return netlab(capfdbinary, *words)

    code, out, _ = checked("same")
    assert (code, "NOT COMPARABLE" in out) == (0, False)
    assert "TCP_NODELAY: not stated in the baseline, no in the contender" in out
    assert checked("slower")[0] == 5
    code, _, err = checked("streams")
    assert (code, "streams: 1 in the baseline, 4 in the contender" in err) == (2, True)
    code, out, _ = checked("streams", "--anyway")
    assert (code, out.startswith("NOT COMPARABLE, checked anyway: streams: 1")) == (0, True)
    code, out, _ = netlab(capfdbinary, "compare", str(old), str(tmp_path / "same"))
    assert (code, "NOT COMPARABLE" in out) == (0, False)
    assert netlab(capfdbinary, "compare", str(old), str(tmp_path / "streams"))[0] == 2
