"""The held-back draw: its seed follows from the rules' last commit, and its scores are kept.

Who writes rules cannot choose the seed, and cannot look at its runs before the rules are done. A
change of the rules has another seed; at most three draws count, and the figure is that of all.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.space.draw import Planned
from benchmarks.space.matrices import Stand
from benchmarks.space.score import Judged, Part, Truth
from benchmarks.space.words import Words
from benchmarks.stage import ROOT
from benchmarks.truths.one_run import write

KEPT = Path(__file__).with_name("held_back.json")
RULES = ("netlab/findings", "netlab/measurement", "probes")
GENERATOR = ("benchmarks/space", f":!{KEPT.relative_to(ROOT)}")
MOST_DRAWS = 3


@dataclass(frozen=True, slots=True)
class Draw:
    """A draw of held-back runs."""

    rules: str
    """The last commit that touches the rules."""
    generator: str
    """The last commit that touches this benchmark."""

    @property
    def seed(self) -> str:
        """SHA-256 of the commit's name, in hexadecimal digits."""
        return hashlib.sha256(self.rules.encode("ascii")).hexdigest()


def present_draw(kept: Path = KEPT, root: Path = ROOT) -> Draw:
    """The draw of the present rules.

    SystemExit if the rules have changes that are in no commit, if this benchmark was changed after
    them, if they were scored, or if three draws were.
    """
    if _git(root, "status", "--porcelain", "--", *RULES, *GENERATOR):
        raise SystemExit("--held-back: commit the changes first: the seed is that of the commit")
    draw = Draw(_last(root, RULES), _last(root, GENERATOR))
    older = ("merge-base", "--is-ancestor", draw.generator, draw.rules)
    process = subprocess.run(["git", *older], cwd=root, check=False, timeout=60)
    if process.returncode:
        raise SystemExit(
            f"--held-back: the benchmark (commit {draw.generator[:8]}) is not older than the rules "
            f"({draw.rules[:8]}): fix the benchmark first, then the rules"
        )
    draws = kept_draws(kept)
    if any(plain["rules"] == draw.rules for plain in draws):
        raise SystemExit(f"--held-back: the rules of {draw.rules[:8]} were scored: see {kept.name}")
    if len(draws) >= MOST_DRAWS:
        raise SystemExit(f"--held-back: {MOST_DRAWS} draws were scored, and no more count")
    return draw


def _last(root: Path, paths: Sequence[str]) -> str:
    return _git(root, "log", "-1", "--format=%H", "--", *paths)


def _git(root: Path, *words: str) -> str:
    process = subprocess.run(
        ["git", *words], cwd=root, capture_output=True, text=True, timeout=60, check=True
    )
    return process.stdout.strip()


def kept_draws(kept: Path = KEPT) -> list[dict[str, Any]]:
    """The draws that were scored, the first one first."""
    return list(json.loads(kept.read_text("utf-8"))["draws"]) if kept.exists() else []


def keep(draw: Draw, judgements: Sequence[Judged], kept: Path = KEPT) -> None:
    """Add the outcomes of a draw to the file, before anybody sees them."""
    plain = {
        "rules": draw.rules,
        "generator": draw.generator,
        "scored": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "runs": [_plain(judged) for judged in judgements],
    }
    write(kept, {"draws": [*kept_draws(kept), plain]})


def _plain(judged: Judged) -> dict[str, Any]:
    planned = judged.truth.planned
    return {
        "name": planned.name,
        "kind": planned.kind,
        "parts": [[*(word for _, word in part.each()), part.share] for part in planned.parts],
        "counts": judged.truth.counts,
        "outcome": judged.outcome,
        "named": list(judged.named),
        "first": judged.first,
    }


def all_judged(kept: Path = KEPT) -> list[Judged]:
    """The runs of all draws, as far as figures need them."""
    return [_read(plain) for draw in kept_draws(kept) for plain in draw["runs"]]


def _read(plain: dict[str, Any]) -> Judged:
    words = tuple(Words(*part) for part in plain["parts"])
    planned = Planned(plain["name"], plain["kind"], words, Stand(tests=()), 0)
    none = frozenset[str]()
    parts = tuple(Part(each, none, (), acted=plain["counts"]) for each in words)
    truth = Truth(planned, none, parts, stolen=not plain["counts"])
    return Judged(truth, plain["outcome"], tuple(plain["named"]), plain["first"])
