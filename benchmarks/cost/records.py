"""Times a run of 10^6 full stream records, and queries of 10^7 of them: `make benchmark-records`.

The records are generated from records that were measured in the lab (made_year.py). Then segments
are made of the journal. The figures are those of `netlab.load`, `netlab status` and `netlab resume`
(the run is complete, so it measures nothing), each in a new interpreter. For the queries, the run
is linked ten times into other folders, and each query groups all records by two columns. With
``--report``, the report is made as well. The disk must have 15 GB for 10^6 records.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

from benchmarks.cost.made_year import TRIALS, make_year
from benchmarks.cost.speed import LOAD, Cost, cost
from benchmarks.stage import NETLAB, Verdict, finish, table
from netlab.results.arrow.segment_writer import compact

RECORDS, RUNS = 10**6, 10
MOST_OPEN_S, MOST_RESUME_S, MOST_QUERY_S, MOST_REPORT_S = 2.0, 10.0, 10.0, 180.0
MOST_BYTES = 2e9

SCAN = """\
import sys, netlab
runs = netlab.scan(sys.argv[1])
print(runs.sql("SELECT protocol, message_bytes, count(*) AS n, avg(throughput_bit_per_s) AS mean "
               "FROM runs GROUP BY ALL").fetchall().__len__())
"""
DASK = """\
import sys
import dask.dataframe as dd
names = ["protocol", "message_bytes", "throughput_bit_per_s"]
rows = dd.read_parquet(sys.argv[1] + "/*/segments/*.parquet", columns=names)
print(len(rows.groupby(names[:2])[names[2]].mean().compute()))
"""
COMPACT = """\
import sys
from pathlib import Path
from netlab.results.arrow.segment_writer import compact
print(compact(Path(sys.argv[1]), least_bytes=1, least_lines=1))
"""


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words.add_argument("--records", type=int, default=RECORDS)
    words.add_argument("--trials", type=int, default=TRIALS, help="trials of each cell")
    words.add_argument("--runs", type=int, default=RUNS, help="how often the run is linked")
    words.add_argument("--report", action="store_true", help="make the report as well")
    words.add_argument("--scratch", type=Path, help="a folder for the runs, which is kept")
    arguments = words.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.scratch) as scratch:
        folder = Path(arguments.scratch or scratch) / "year" / "run"
        made = []
        if not folder.exists():
            make_year(folder, arguments.records, trials=arguments.trials)
        if compact(folder) or not (folder / "segments").exists():
            made = [cost(sys.executable, "-c", COMPACT, str(folder))]
        links = link(folder, Path(scratch) / "links", arguments.runs)
        costs = {
            "segments of the rest": made,
            "netlab.load": [cost(sys.executable, "-c", LOAD, str(folder)) for _ in range(2)],
            "netlab status": [cost(*NETLAB, "status", str(folder)) for _ in range(2)],
            "netlab resume": [cost(*NETLAB, "resume", str(folder), "--no-report", "--quiet")],
            "scan": [cost(sys.executable, "-c", SCAN, str(links))],
            "dask": [cost(sys.executable, "-c", DASK, str(links))],
            "report": [cost(*NETLAB, "report", str(folder))] if arguments.report else [],
        }
        sizes = [path.stat().st_size for path in (folder / "segments").iterdir()]
        journal_bytes = (folder / "journal.jsonl").stat().st_size
    print(table(["seconds", "most", "MB"], [*map(row, *zip(*costs.items(), strict=True))]))
    print(
        f"The journal of {arguments.records:,} records has {journal_bytes / 1e9:.1f} GB, its "
        f"{len(sizes)} segments {sum(sizes) / 1e9:.1f} GB."
    )
    return judge(arguments.records, arguments.runs, costs)


def link(folder: Path, into: Path, runs: int) -> Path:
    """Link the files of the run, and its segments, into so many run folders."""
    for number in range(runs):
        (into / str(number) / "segments").mkdir(parents=True)
        for path in (*folder.iterdir(), *(folder / "segments").iterdir()):
            if path.is_file() and path.name != "lock":
                os.link(path, into / str(number) / path.relative_to(folder))
    return into


def row(name: str, costs: list[Cost]) -> list[str]:
    if not costs:
        return [name, "", ""]
    most_bytes = max(sample.most_bytes for sample in costs)
    return [name, f"{max(sample.wall_s for sample in costs):.2f}", f"{most_bytes / 1e6:.0f}"]


def judge(records: int, runs: int, costs: dict[str, list[Cost]]) -> int:
    """Compare each figure with its criterion."""
    load_s = max(json.loads(sample.said)["load_s"] for sample in costs["netlab.load"])
    times = {name: max((each.wall_s for each in own), default=0.0) for name, own in costs.items()}
    criteria = {
        "netlab status": MOST_OPEN_S,
        "netlab resume": MOST_RESUME_S,
        "scan": MOST_QUERY_S,
        "dask": MOST_QUERY_S,
        "report": MOST_REPORT_S,
    }
    opened = f"run opened in {MOST_OPEN_S:g} s"
    verdicts = [Verdict(load_s < MOST_OPEN_S, opened, f"{load_s:.2f} s")]
    for name, most_s in criteria.items():
        if not costs[name]:
            continue
        most_bytes = max(sample.most_bytes for sample in costs[name])
        verdicts += [
            Verdict(times[name] < most_s, f"{name} in {most_s:g} s", f"{times[name]:.2f} s"),
            Verdict(
                most_bytes < MOST_BYTES,
                f"{name} in {MOST_BYTES / 1e9:g} GB",
                f"{most_bytes / 1e9:.2f} GB",
            ),
        ]
    return finish(
        verdicts,
        f"records: {records:,} opened in {load_s:.2f} s, status {times['netlab status']:.2f} s, "
        f"resume {times['netlab resume']:.2f} s; group-by of {records * runs:,} by scan "
        f"{times['scan']:.2f} s, by dask {times['dask']:.2f} s",
    )


if __name__ == "__main__":
    sys.exit(main())
