"""Makes a run folder of up to 10^6 full records of streams, for benchmarks of large runs.

The records are generated from records that were measured in the lab. Each has all values that two
probes report for a stream, with figures and series of its own.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import netlab
from benchmarks.cost.speed import MEASURED, made_record
from netlab.config.matrix_file import load_matrix
from netlab.experiment.matrix import expand
from netlab.runner.options import NOTE, Options, data_of
from netlab.store.journal import encode_line
from netlab.store.plan import PlannedCell, plan_of
from netlab.store.run_folder import RunFolder
from netlab.trial.record import Status, utc_text

TRIALS = 100
BUFFERS = ("auto", "64KiB", "128KiB", "256KiB", "512KiB")
MATRIX = """\
title: a year of records
hosts: {{a: {{local: true}}, b: {{local: true}}}}
pairs: {{LL: [a, b]}}
pairings: [LL]
repeats: {trials}
defaults: {{duration: 1s}}
tests:
  - {{test: stream, protocol: [UDP, TCP], message_size: {sizes}, socket_buffer: [{buffers}]}}
"""
POOL = 16_000
"""Number of different records; the rates and times of all records differ."""
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
_RATE = '"throughput_bit_per_s":'


def make_year(folder: Path, records: int, *, trials: int = TRIALS) -> None:
    """Write a complete run of so many records, except for its segments."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    matrix_file = folder.parent / "matrix.yaml"
    sizes = [*range(64, 64 + records // trials // len(BUFFERS) // 2)]
    matrix_file.write_text(
        MATRIX.format(trials=trials, sizes=sizes, buffers=", ".join(BUFFERS)), encoding="utf-8"
    )
    matrix = load_matrix(matrix_file, {})
    plan = plan_of(matrix, expand(matrix))
    with RunFolder.open_for_writing(folder, plan) as run_folder:
        run_folder.note(NOTE, **data_of(Options(matrix=matrix_file, into=folder), folder))
        run_folder.note("session", hosts={})
    rng = random.Random(7)  # noqa: S311 - figures, no secrets
    pool = [*made_values(rng, min(POOL, records))]
    with (folder / "journal.jsonl").open("ab") as journal:
        for number in range(records):
            trial, place = divmod(number, len(plan.cells))
            at = utc_text(BEGIN + timedelta(seconds=31 * number))
            cell = plan.cells[place]
            is_tcp = cell.settings["protocol"] == "TCP"
            values = pool[(2 * number + is_tcp) % len(pool)]
            for line in lines(cell, trial + 1, at, values, rng):
                journal.write(encode_line(line))
        end = {"kind": "session-end", "at": utc_text(datetime.now(UTC)), "data": {}}
        journal.write(encode_line(json.dumps(end)))


def made_values(rng: random.Random, number: int) -> Iterator[tuple[str, str]]:
    """The values of records as JSON, cut where the throughput belongs."""
    run = netlab.load(MEASURED)
    measured = [
        (cell, record)
        for cell in run.plan.cells
        if (record := run.latest.get((cell.key, 1))) is not None and record.status is Status.OK
    ]
    by_protocol = [
        [(cell, record) for cell, record in measured if cell.settings["protocol"] == protocol]
        for protocol in ("UDP", "TCP")
    ]
    for place in range(number):
        own = by_protocol[place % 2]
        cell, record = own[place // 2 % len(own)]
        while (made := made_record(cell, record, rng)).status is not Status.OK:
            pass
        values = dict(made.values)
        del values["throughput_bit_per_s"]
        text = json.dumps(values, separators=(",", ":"))
        yield "{" + _RATE, "," + text[1:]


def lines(
    cell: PlannedCell, trial: int, at: str, values: tuple[str, str], rng: random.Random
) -> Iterator[str]:
    """The lines of one trial: its beginning and its record; one record in a hundred failed, and
    was repeated.
    """
    settings = json.dumps(dict(cell.settings), separators=(",", ":"))
    attempts = (1, 2) if rng.random() < 0.01 else (1,)
    for attempt in attempts:
        named = f'"cell":"{cell.key}","trial":{trial},"attempt":{attempt}'
        yield f'{{"kind":"attempt","at":"{at}","data":{{{named}}}}}'
        is_last = attempt == len(attempts)
        status = '"status":"ok"' if is_last else '"status":"failed","reason":"no-traffic"'
        rate = 95e6 * min(1.0, rng.gauss(0.99, 0.002))
        measured = f"{values[0]}{rate}{values[1]}" if is_last else "{}"
        yield (
            f'{{"kind":"record","at":"{at}","schema":1,{named},{status},"pairing":"{cell.pairing}",'
            f'"server":"a","client":"b","test":"stream","started_at":"{at}","settings":{settings},'
            f'"values":{measured}}}'
        )
