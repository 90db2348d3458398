"""Plants causes drawn from a space of where, what, which, when, how much: `make benchmark-space`.

Each run is measured twice in a lab of its own: without its cause, and with it. docs/truths.md says
what is right, a symptom, and false. Each run is a folder below ``--into``. A complete run is not
measured again, so the benchmark can be stopped at any time and resumed.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.space.draw import Planned, chosen, drawn
from benchmarks.space.forwarder import built
from benchmarks.space.held_back import Draw, all_judged, keep, present_draw
from benchmarks.space.one_run import measure
from benchmarks.space.read_runs import judged_runs
from benchmarks.space.score import Judged
from benchmarks.space.tables import printed, share_of, space, verdicts
from benchmarks.space.words import SHARES
from benchmarks.stage import finish
from benchmarks.truths.one_run import LEFT_OUT, TRUTH
from benchmarks.truths.runner import machine_to_ourselves
from netlab.errors import NetlabError
from netlab.findings.claims import WHAT, WHEN, WHERE, WHICH

DEFAULT_INTO = Path("runs/space")
HELD_BACK = "held-back"
USUAL_S = 25.0
VOCABULARIES: Mapping[str, Sequence[str]] = {
    "where": WHERE,
    "what": WHAT,
    "which": WHICH,
    "when": WHEN,
    "share": [str(share) for share in SHARES],
}


def main(words: list[str] | None = None) -> int:
    """Measure the runs that are not complete, then score all runs. Returns the exit status."""
    arguments = _parser().parse_args(words)
    if arguments.list:
        print(space())
        return 0
    draw = present_draw() if arguments.held_back else None
    seed = draw.seed if draw else arguments.seed
    folder = f"{HELD_BACK}-{draw.rules[:8]}" if draw else f"seed-{seed}"
    into: Path = arguments.into / folder
    if draw and (arguments.only or arguments.limit or arguments.leave_out):
        raise SystemExit("--held-back: all runs, without --only, --limit and --leave-out")
    runs = drawn(seed, healthy=arguments.healthy, mixtures=arguments.mixtures)
    runs = chosen(runs, arguments.only, arguments.limit)
    failures: list[str] = []
    if not arguments.score:
        into.mkdir(parents=True, exist_ok=True)
        with machine_to_ourselves():
            failures = measure_all(runs, into)
    names = {run.name for run in runs}
    read = judged_runs(into, arguments.leave_out)
    judgements = [each for each in read if each.truth.planned.name in names]
    if not judgements:
        raise SystemExit(f"{into} has no complete run")
    if draw and len(judgements) < len(runs):
        raise SystemExit(f"{len(judgements)} of {len(runs)} runs are complete: call it again")
    status = score(judgements, into, draw)
    return status or bool(failures)


def score(judgements: list[Judged], into: Path, draw: Draw | None) -> int:
    """Print the score, and return the exit status."""
    if draw:
        keep(draw, judgements)
    left_out = sum(1 for _ in (into / LEFT_OUT).glob("*"))
    print(printed(judgements, left_out), end="\n\n")
    if draw:
        judgements = all_judged()
    criteria = verdicts(judgements)
    causes = [each for each in judgements if each.truth.planned.kind == "cause"]
    figures = f"right {share_of(causes, 'right')}; false {share_of(causes, 'false')}"
    return finish(criteria, figures)


def measure_all(runs: Sequence[Planned], into: Path) -> list[str]:
    """Measure the runs that are not measured yet. Returns a sentence for each that failed."""
    built()
    due = [run for run in runs if not (into / run.name / TRUTH).exists()]
    _say(f"{len(runs)} runs, {len(runs) - len(due)} there already")
    failures, began = [], time.monotonic()
    for number, run in enumerate(due):
        try:
            truth = measure(run, into)
        except Exception as error:  # the other runs are measured nevertheless
            failures.append(f"{run.name}: {type(error).__name__}: {error}")
            (into / f"{run.name}.broken").write_text(traceback.format_exc(), encoding="utf-8")
            _say(f"broken: {failures[-1]}")
            continue
        each_s = (time.monotonic() - began) / (number + 1)
        left_min = each_s * (len(due) - number - 1) / 60
        note = f", {truth['failed']}" if truth["failed"] else ""
        planted = "; ".join(map(str, run.parts)) or run.kind
        _say(f"{run.name} ({planted}): {truth['took_s']:.1f} s{note}; {left_min:.0f} min left")
    return failures


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def only_of(text: str) -> dict[str, str]:
    """Words such as ``where=path,what=rate``. ArgumentTypeError if one is unknown."""
    only = dict[str, str]()
    for pair in text.split(","):
        kind, _, word = pair.partition("=")
        if word not in VOCABULARIES.get(kind, ()):
            known = " ".join(VOCABULARIES.get(kind, VOCABULARIES))
            raise argparse.ArgumentTypeError(f"{pair}: one of {known}")
        only[kind] = word
    return only


def _parser() -> argparse.ArgumentParser:
    words = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    words.add_argument("--seed", default="1", help="draws all runs (1)")
    words.add_argument("--healthy", type=int, default=100, help="runs without a cause (100)")
    words.add_argument("--mixtures", type=int, default=100, help="runs with two causes (100)")
    words.add_argument(
        "--only", type=only_of, default={}, metavar="where=…,what=…", help="causes of these words"
    )
    words.add_argument("--limit", type=int, default=0, metavar="N", help="the first N runs (all)")
    words.add_argument(
        "--into", type=Path, default=DEFAULT_INTO, help=f"folder of the runs ({DEFAULT_INTO})"
    )
    words.add_argument("--score", action="store_true", help="measure nothing, score what is there")
    words.add_argument(
        "--leave-out",
        choices=WHAT,
        default="",
        metavar="WHAT",
        help="score what the rules that do not claim this thing say of it",
    )
    words.add_argument(
        "--held-back",
        action="store_true",
        help="with the seed of the rules' last commit; each is scored once, three in all",
    )
    words.add_argument("--list", action="store_true", help="what can be planted, and what cannot")
    return words


if __name__ == "__main__":
    try:
        sys.exit(main())
    except NetlabError as error:
        raise SystemExit(str(error)) from None
