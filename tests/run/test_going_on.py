"""The command that goes on with a run: all that was asked of it, and nothing that is usual."""

from __future__ import annotations

from pathlib import Path

from netlab.run.run import Options

MATRIX = Path("my matrix.yaml")


def test_what_is_usual_is_not_repeated() -> None:
    assert Options(matrix=MATRIX).to_go_on(Path("out")) == "netlab run 'my matrix.yaml' --into out"


def test_what_was_asked_for_is() -> None:
    options = Options(
        matrix=MATRIX,
        hosts=Path("lab.yaml"),
        into=Path("out"),
        only=("LL",),
        overrides={"repeats": "2"},
        redo=frozenset({"b", "a"}),
        retries=0,
        wait_s=60,
        patience_s=1.5,
        strict=True,
    )
    assert options.to_go_on(Path("out")) == (
        "netlab run 'my matrix.yaml' --into out --hosts lab.yaml --only LL --set repeats=2 "
        "--redo a --redo b --retries 0 --wait 60 --patience 1.5 --strict"
    )
