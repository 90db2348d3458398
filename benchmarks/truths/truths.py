"""Checks whether netlab's findings are right if the cause is known: `make benchmark-truths`.

Each cause is planted in a lab at three strengths, its effect is checked with another tool, and
netlab measures. Then the findings are compared with what was planted. There are also clean runs,
and mixtures of two causes. docs/truths.md explains the printed tables.

Each run is a folder below ``--into``. A complete run is not measured again, so the benchmark can be
stopped at any time and resumed. ``--score`` measures nothing: it applies the current rules to the
recorded runs.
"""

from __future__ import annotations

import argparse
import json
import re
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path

from benchmarks.stage import finish
from benchmarks.truths.answers import judge_answer
from benchmarks.truths.causes import STRENGTHS, Cause
from benchmarks.truths.draw import drawn
from benchmarks.truths.effects import Effects
from benchmarks.truths.one_run import LEFT_OUT, write
from benchmarks.truths.read_runs import recorded
from benchmarks.truths.rows import CAUSES
from benchmarks.truths.runner import machine_to_ourselves, measure_all
from benchmarks.truths.score import figures as rows_of
from benchmarks.truths.score import judge
from benchmarks.truths.tables import answer_verdicts, printed, texts, verdicts
from netlab.errors import NetlabError

DEFAULT_INTO = Path("runs/truths")
HELD_BACK = "held-back"
"""Folder of the runs whose seed is not shown. They can be scored only once."""
SEED, SCORED = "seed.json", "scored.json"
ANSWERS = "answers.txt"
"""File of the answers of the runs with a planted limit, as a terminal shows them."""


def main(words: list[str] | None = None) -> int:
    """Measure the runs that are not complete, then score all runs. Returns the exit status."""
    arguments = _parser().parse_args(words)
    causes = {name: cause for name, cause in CAUSES.items() if arguments.only in ("", name)}
    if not causes:
        raise SystemExit(f"--only {arguments.only}: one of {', '.join(CAUSES)}")
    into: Path = arguments.into
    into.mkdir(parents=True, exist_ok=True)
    if arguments.held_back:
        into, seed = into / HELD_BACK, held_back_seed(into / HELD_BACK)
    else:
        into, seed = into / f"seed-{arguments.seed}", arguments.seed
    failures: list[str] = []
    if not arguments.score:
        planned_runs = drawn(
            causes,
            seed,
            runs=arguments.runs,
            clean=arguments.clean,
            mixtures=arguments.mixtures,
            strengths=arguments.strengths,
        )
        into.mkdir(parents=True, exist_ok=True)
        with machine_to_ourselves():
            failures = measure_all(planned_runs, causes, into, arguments.at_once)
        for sentence in failures:
            print(f"broken: {sentence}", file=sys.stderr)
        if arguments.held_back:
            print("measured; `--held-back --score` scores it, once")
            return 1 if failures else 0
    status = score(
        into,
        causes,
        once=arguments.held_back,
        figures=arguments.figures,
        shared=arguments.shared,
    )
    return status or bool(failures)


def score(
    into: Path,
    causes: Mapping[str, Cause],
    *,
    once: bool = False,
    figures: Path | None = None,
    shared: bool = False,
) -> int:
    """Score the recorded runs, print the result, and write the figures of each cause.

    Returns the exit status. ``once``: refuse a second score of the same runs. ``figures``: a file
    of figures; rows of causes that were not measured stay as they are. ``shared``: the machine had
    other work, so they tell only what was stated.
    """
    if once and (into / SCORED).exists():
        raise SystemExit(f"{into} was scored before: hold back another seed, in another --into")
    runs = [run for run in recorded(into) if all(p.cause in causes for p in run.truth.parts)]
    judgements = [judge(run.truth, run.statements, CAUSES) for run in runs]
    judged_answers = [
        judged
        for judgement, run in zip(judgements, runs, strict=True)
        if (judged := judge_answer(judgement, run.answer, CAUSES)) is not None
    ]
    if not judgements:
        raise SystemExit(f"{into} has no complete run")
    if once:
        # Recorded before the figures are shown, because rules could then be tuned to them.
        write(into / SCORED, {"scored": True})
    left_out = sum(1 for _ in (into / LEFT_OUT).glob("*"))
    effects = Effects(into).all()
    print(printed(judgements, judged_answers, causes, effects, left_out), end="\n\n")
    criteria = [*verdicts(judgements, causes), *answer_verdicts(judged_answers)]
    (into / ANSWERS).write_text("".join(texts(judged_answers)), encoding="utf-8")
    if figures is not None:
        old_rows = json.loads(figures.read_text()) if figures.exists() else {}
        rows = old_rows | rows_of(judgements, CAUSES, shared=shared)
        write(figures, dict(sorted(rows.items())))
    shares = [
        f"{re.split('(?<!answer)[,:]', verdict.criterion)[0]} {verdict.measured.partition(' (')[0]}"
        for verdict in criteria
        if "/" in verdict.measured
    ]
    met_count = sum(verdict.met for verdict in criteria)
    return finish(criteria, f"{met_count} of {len(criteria)} met: {'; '.join(shares)}")


def held_back_seed(into: Path) -> str:
    """The seed of the held-back runs. It is drawn at the first use and never shown."""
    path = into / SEED
    if not path.exists():
        write(path, {"seed": secrets.token_hex(8)})
    return str(json.loads(path.read_text())["seed"])


def _strengths(words: str) -> list[str]:
    names = words.split(",")
    unknown = set(names) - {*STRENGTHS}
    if unknown:
        raise argparse.ArgumentTypeError(f"{words}: some of {', '.join(STRENGTHS)}")
    return names


def _parser() -> argparse.ArgumentParser:
    words = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    words.add_argument("--only", default="", metavar="CAUSE", help="one cause, by its name")
    words.add_argument(
        "--strengths",
        type=_strengths,
        default=[*STRENGTHS],
        help="one or more of just,plain,gross",
    )
    words.add_argument("--runs", type=int, default=10, help="runs of each cause and strength (10)")
    words.add_argument("--clean", type=int, default=100, help="runs with nothing planted (100)")
    words.add_argument("--mixtures", type=int, default=60, help="runs with two causes (60)")
    words.add_argument("--seed", default="1", help="draws the numbers of all runs (1)")
    words.add_argument(
        "--into", type=Path, default=DEFAULT_INTO, help=f"folder of the runs ({DEFAULT_INTO})"
    )
    words.add_argument("--score", action="store_true", help="measure nothing, score what is there")
    words.add_argument(
        "--at-once", type=int, default=1, help="workers, for causes that are not of CPUs (1)"
    )
    words.add_argument(
        "--figures", type=Path, metavar="FILE", help="where those of each cause go, as JSON"
    )
    words.add_argument(
        "--shared",
        action="store_true",
        help="the machine has other work: the figures tell only which findings were stated",
    )
    words.add_argument(
        "--held-back", action="store_true", help="with a seed that nobody sees; scored once"
    )
    return words


if __name__ == "__main__":
    try:
        sys.exit(main())
    except NetlabError as error:
        raise SystemExit(str(error)) from None
