"""A plan of many pairs: the work for each cell, counted and not timed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from netlab.config import document
from netlab.experiment import hosts
from netlab.kinds import Stream
from netlab.runner.planning import plan_of, plan_text

MATRIX = """\
title: t
pairings: {between: all, inside: false}
parallel: true
tests: [{test: stream, protocol: TCP, message_size: 1448, duration: 10s}]
"""


def planned(folder: Path, number: int, patch: pytest.MonkeyPatch) -> Counter[str]:
    """The calls that a plan of ``number`` hosts makes."""
    matrix, inventory = folder / "m.yaml", folder / f"{number}.yaml"
    matrix.write_text(MATRIX)
    inventory.write_text("hosts:\n" + "".join(f"  h{n}: {{local: true}}\n" for n in range(number)))
    calls: Counter[str] = Counter()
    with patch.context() as here:
        for owner, name in (
            (hosts.Inventory, "candidates"),
            (Stream, "settings"),
            (hosts.Host, "address"),
            (document, "load_document"),
        ):
            original: Any = getattr(owner, name)

            def counted(*args: Any, call: Any = original, key: str = name, **keys: Any) -> Any:
                calls[key] += 1
                return call(*args, **keys)

            here.setattr(owner, name, counted)
        plan = plan_of(matrix, inventory)
        assert len(plan.cells) == number * (number - 1)
        plan_text(plan)
    return calls


def test_a_plan_looks_up_each_pairing_and_each_address_of_a_host_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few, many = (planned(tmp_path, number, monkeypatch) for number in (10, 40))
    assert many["candidates"] == 40 * 39
    assert few["settings"] == many["settings"] > 0
    assert many["address"] == 40
    assert few["load_document"] == many["load_document"]
