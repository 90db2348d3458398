"""The output of `netlab hosts` and of a plan about hosts, also about faulty ones."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from netlab.errors import HostError, UsageError
from netlab.experiment.hosts import Host, SshTarget
from netlab.remote.agent import Agent
from netlab.runner.places import asking
from netlab.runner.survey import InspectedHost, Survey, inspect

FAR = Host(name="far", os="L", ssh=SshTarget("far"))
FORGED = "Debian\n\nlinux-b: fit"


def opening(monkeypatch: pytest.MonkeyPatch, outcome: Any) -> None:
    """Agents open with the result ``outcome``, or raise it."""

    def open_one(_host: Host, _say: object = None, **_: object) -> Any:
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    monkeypatch.setattr(Agent, "open", open_one)


def agent(**facts: object) -> Any:
    return SimpleNamespace(
        host=FAR,
        hello={"os": "linux", "architecture": "x86_64", "version": "1", "build": "2"},
        skipped_lines=0,
        facts=lambda **_: facts,
        close=lambda: None,
    )


def test_netlab_hosts_describes_a_host_that_does_not_report_its_cpu_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opening(monkeypatch, agent())
    inspection = inspect(FAR)
    assert inspection.unfit == ()
    assert dict(inspection.lines)["architecture"] == "x86_64, an unknown number of CPUs"


def test_a_line_end_in_a_fact_of_a_host_forges_no_line_of_netlab_hosts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opening(monkeypatch, agent(distribution=FORGED))
    text = Survey((inspect(FAR), InspectedHost(FAR, (), (FORGED,)))).as_text()
    assert "linux-b: fit" not in text.splitlines()
    assert "system               Debian  linux-b: fit" in text
    assert "  ! Debian  linux-b: fit" in text


def test_a_line_end_in_an_error_of_a_host_forges_no_line_of_the_plan(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opening(monkeypatch, HostError(f"far: {FORGED}"))
    assert asking(print)([FAR])["far"].fault == "far: Debian  linux-b: fit"


def test_an_internal_error_at_a_host_is_reported_with_the_name_of_the_host(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opening(monkeypatch, KeyError("build"))
    assert inspect(FAR).unfit == ("far: KeyError: 'build'",)
    assert asking(print)([FAR])["far"].fault == "far: KeyError: 'build'"


def test_a_plan_ends_if_this_machine_lacks_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    opening(monkeypatch, UsageError("no C compiler; install one"))
    with pytest.raises(UsageError, match="no C compiler"):
        asking(print)([FAR])
