"""The variants of a plan state which facts of a host they may change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from netlab.config.matrix_file import load_matrix
from netlab.experiment.variants import OF_ANY, changed_facts

HEAD = """\
pairings: [LL]
tests: [{test: connect, message_size: 64}]
variants:
  group:
    one: {}
    two: """


@pytest.mark.parametrize(
    ("state", "facts"),
    [
        ("{}", set()),
        ("{both: {congestion: reno}}", {"congestion"}),
        ("{server: {sysctl: {net.core.rmem_max: 1, kernel.panic: 0}}}", {"rmem_max_bytes"}),
        (
            "{client: {offloads: {gso: off}, mtu: 1400}}",
            {"interface_offloads", "interface_mtu_bytes"},
        ),
        (
            '{client: {enter: "sudo -n ip link set {interface} mtu 9000", check: "true", '
            "restore: as found}}",
            {"interface_mtu_bytes"},
        ),
        ("{server: {enter: tune, check: 'true', restore: untune}}", set(OF_ANY)),
        (
            "{server: {governor: performance}, client: {interrupts: 0}}",
            {"governor", "interface_irq_cpus"},
        ),
    ],
)
def test_a_known_variant_setting_may_change_only_its_own_facts_but_other_commands_any_fact(
    tmp_path: Path, state: str, facts: set[str]
) -> None:
    (tmp_path / "m.yaml").write_text(HEAD + state + "\n")
    assert changed_facts(load_matrix(tmp_path / "m.yaml").content) == facts


@pytest.mark.parametrize(
    "variants",
    [
        *(None, 1, "on", [], ["a"], {}, {"a": 1}, {"a": {"b": []}}, {"a": {"b": {"server": 7}}}),
        *({"a": {"b": {"server": [1, None]}}}, {"a": {"b": {"client": {"known": "mtu"}}}}),
        {"a": {"b": {"client": [{"known": "sysctl", "wanted": [[], 1, ["x"], [["y"], 1]]}]}}},
    ],
)
def test_malformed_variants_in_a_plan_change_no_facts(variants: Any) -> None:
    assert changed_facts({"variants": variants}) == set()
    assert changed_facts({}) == set()


def test_a_variant_change_of_unknown_kind_may_change_any_fact() -> None:
    for name in ("nosuch", 1, None, ["mtu"]):
        content = {"variants": {"a": {"b": {"server": [{"known": name}]}}}}
        assert changed_facts(content) == set(OF_ANY)
