"""The agents of a run, without any host: waiting times, and the cause that a fault gets."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest
from advanced_clock import call_later, passing_clock

from netlab import clock
from netlab.errors import HostError, HostGone, HostRefused, LockedError, ProbeError, UsageError
from netlab.experiment.cells import Cell
from netlab.experiment.hosts import Host, Inventory
from netlab.kinds import Stream
from netlab.remote import deploy
from netlab.remote.agent import Agent
from netlab.remote.deploy import Platform, Shell
from netlab.remote.programs import LockOwner
from netlab.runner import host_pool as room
from netlab.runner.host_agents import HARVEST_S, RETURN_S, HostAgents
from netlab.runner.host_pool import HostPool
from netlab.runner.preflight import Preflight

__all__ = ["passing_clock"]

pytestmark = [pytest.mark.agents, pytest.mark.usefixtures("passing_clock")]

OWNER = LockOwner("1a2b", "c3d4", "out")
ADA = "run ffff, session 0000, in runs/ada"


class FakeAgent(Agent):
    """An agent without a process, on a host that somebody else may hold."""

    def __init__(
        self, host: Host, holders: dict[str, str], identity: str, answers: threading.Event
    ) -> None:
        self._answers = answers
        self.host = host
        self.hello = {"machine_id": identity}
        self._holders = holders
        self._machine, self._network = identity, ""
        self._gone = None
        self.died = False

    def ask(self, verb: str, *, timeout_s: float | None = None, **keys: Any) -> dict[str, Any]:
        del timeout_s
        self._answers.wait()
        clock.sleep(0.05)
        assert verb == "lock"
        holder = self._holders.setdefault(self._machine, str(keys["owner"]))
        if holder == ADA or self._holders.get(f"{self._machine} by") not in (None, self.host.name):
            raise ProbeError(self.host.name, "locked", detail=holder)
        self._holders[f"{self._machine} by"] = self.host.name
        return {}

    def close(self) -> None:
        self._gone = self._gone or f"{self.host.name}: the connection was closed"


@dataclass
class Lab:
    """Hosts by name, and the result of a connection to each."""

    monkeypatch: pytest.MonkeyPatch
    hosts: tuple[Host, ...]
    away: dict[str, Exception] = field(default_factory=dict)
    holders: dict[str, str] = field(default_factory=dict)
    """Identity → holder of its lock."""
    identities: dict[str, str] = field(default_factory=dict)
    kept: list[str] = field(default_factory=list)
    answers: threading.Event = field(default_factory=threading.Event)
    """Whether the hosts answer."""

    def __post_init__(self) -> None:
        self.monkeypatch.setattr(Agent, "open", self.open)
        self.answers.set()

    def open(self, host: Host, _say: object, **_connections: object) -> Agent:
        if host.name in self.away:
            raise self.away[host.name]
        identity = self.identities.get(host.name, host.name)
        return FakeAgent(host, self.holders, identity, self.answers)

    def keep(self, error: Exception, name: str) -> str:
        self.kept.append(name)
        return f"{type(error).__name__}; its traceback is in {name}"

    def agents(self, wait_s: float = 0.0) -> HostAgents:
        return HostAgents(self.inventory(), OWNER, wait_s=wait_s, keep=self.keep)

    def inventory(self, *observed: str, **pairs: tuple[str, str]) -> Inventory:
        return Inventory("hosts.yaml", self.hosts, pairs).observing(observed)


def hosts(*names: str, **more: Any) -> tuple[Host, ...]:
    return tuple(
        Host(name=name, os="L", addresses={"test": (f"10.0.0.{number}",)}, **more)
        for number, name in enumerate(names, 1)
    )


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch) -> Lab:
    return Lab(monkeypatch, hosts("a", "b", "c"))


# Locks


def test_all_locked_hosts_share_one_time_limit(lab: Lab) -> None:
    agents = lab.agents(wait_s=60.0)
    agents.open_all(lab.hosts)
    lab.holders |= {"a": ADA, "b": ADA, "c": ADA}
    call_later(40.0, lambda: lab.holders.pop("a"))
    began_s = clock.monotonic()
    with pytest.raises(LockedError, match="b is measured by run ffff"):
        agents.lock_all(list(agents.agents.values()))
    assert 60.0 <= clock.monotonic() - began_s < 61.0


def test_a_lost_host_that_another_run_holds_does_not_delay_the_run(
    lab: Lab,
) -> None:
    agents = lab.agents(wait_s=30.0)
    agents.open_all(lab.hosts)
    agents.lock_all(list(agents.agents.values()))
    agents.agents["a"].close()
    lab.holders["a"] = ADA
    began_s = clock.monotonic()
    agents.lose("a")
    assert clock.monotonic() - began_s < RETURN_S + 1.0
    assert agents.absences["a"].reason == "locked"
    agents.absences["a"] = replace(agents.absences["a"], ask_at_s=clock.monotonic())
    lab.answers.clear()
    began_s = clock.monotonic()
    agents.ask_again(["a"])
    assert clock.monotonic() - began_s == pytest.approx(HARVEST_S)
    assert agents.next_ask_s(["a"], 600.0) == HARVEST_S
    lab.holders.clear()
    lab.answers.set()
    while agents.absences:
        agents.ask_again(["a"])


def test_two_names_of_one_host_never_wait_for_each_other(lab: Lab) -> None:
    lab.identities |= {"a": "one", "b": "one"}
    agents = lab.agents()
    agents.open_all(lab.hosts)
    for name in ("a", "b"):
        agents.agents[name].close()
    agents.ask_again(["a", "b"])
    assert set(agents.absences) <= {"a", "b"}

    began_s = clock.monotonic()
    while agents.absences:
        agents.ask_again(["a", "b"])
    assert clock.monotonic() - began_s < RETURN_S
    assert agents.all_there is False
    assert agents.take_returned("check") == {"a", "b"}
    assert agents.take_returned("note") == {"a", "b"}
    assert agents.all_there


# Faults


def test_a_defect_while_a_host_is_connected_is_reported_with_its_traceback(lab: Lab) -> None:
    lab.away["a"] = KeyError("hello")
    agents = lab.agents()
    assert agents.open_all(lab.hosts) == {}
    absence = agents.absences["a"]
    assert absence.reason == "internal"
    assert absence.sentence == "a: KeyError; its traceback is in host-a"
    assert lab.kept == ["host-a"]


def test_a_missing_compiler_on_this_machine_is_no_fault_of_a_host(lab: Lab) -> None:
    lab.away["b"] = UsageError("no C compiler: install one")
    with pytest.raises(UsageError, match=r"^no C compiler"):
        lab.agents().open_all(lab.hosts)


def test_a_host_for_whose_system_no_probe_exists_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def none(*_: object) -> None:
        raise UsageError("there is no probe for linux-vax")

    monkeypatch.setattr(deploy, "probe_for", none)
    with pytest.raises(HostRefused, match=r"^a: there is no probe for linux-vax"):
        deploy._probe_for(hosts("a")[0], Platform("L", "vax", Shell.POSIX), None)


# Pools


@pytest.fixture
def passing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "preflight", lambda *_: Preflight(blocked=(), warnings=()))


def pool_of(lab: Lab, inventory: Inventory, *pairings: str) -> HostPool:
    return HostPool(HostAgents(inventory, OWNER, wait_s=0.0, keep=lab.keep), pairings)


def cell(pairing: str) -> Cell:
    return Cell(pairing=pairing, test="stream", setup=Stream(protocol="UDP", message_bytes=64))


@pytest.mark.usefixtures("passing")
def test_a_run_does_not_wait_for_the_partner_of_a_host_that_refuses_the_login(lab: Lab) -> None:
    lab.hosts = hosts("a", "b", "c", "d")
    lab.away["a"] = HostRefused("a: accepted no key")
    lab.away["b"] = HostError("b: no route to host")
    inventory = lab.inventory(one=("a", "b"), two=("c", "d"), three=("c", "b"))
    with pool_of(lab, inventory, "one", "two", "three") as pool:
        assert pool.next_ask_s([cell("two")], 600.0) is None
        assert pool.next_ask_s([cell("one")], 600.0) is None
        awaited_s = pool.next_ask_s([cell("one"), cell("three")], 600.0)
        assert awaited_s is not None
        assert awaited_s <= 1.0
        assert pool.next_ask_s([cell("three")], 0.0) is None


@pytest.mark.usefixtures("passing")
def test_an_observed_host_that_is_away_at_first_observes_later(lab: Lab) -> None:
    lab.away["c"] = HostGone("c: no route to host")
    inventory = lab.inventory("c", one=("a", "b"))
    with pool_of(lab, inventory, "one") as pool:
        assert pool.warnings == ["not observed: c: no route to host"]
        assert pool.unreachable == ()
        assert pool.next_ask_s([cell("one")], 600.0) is None
        assert pool.ends(cell("one")).observed == ()
        lab.away.clear()
        clock.sleep(1.0)
        pool.ask_again()
        (observer,) = pool.ends(cell("one")).observed
        assert observer.host.name == "c"


@pytest.mark.usefixtures("passing")
def test_an_observed_host_that_refuses_the_login_stops_no_pairing(lab: Lab) -> None:
    lab.away["c"] = HostRefused("c: accepted no key")
    with pool_of(lab, lab.inventory("c", one=("a", "b")), "one") as pool:
        assert pool.warnings == ["not observed: c: accepted no key"]
    lab.away |= {"a": HostGone("a: away"), "b": HostGone("b: away")}
    lost_pool = pool_of(lab, lab.inventory("c", one=("a", "b")), "one")
    with pytest.raises(HostError, match="no pairing can be measured: a: away; b: away"):
        cast(Any, lost_pool).__enter__()


def test_a_pairing_without_hosts_names_all_that_are_away_by_the_alphabet(lab: Lab) -> None:
    lab.hosts = hosts("f", "b", "d", "a", "c", "e")
    lab.away |= {host.name: HostGone(f"{host.name}: away") for host in lab.hosts}
    inventory = lab.inventory(one=("f", "b"), two=("d", "a"), three=("c", "e"))
    away = "; ".join(f"{name}: away" for name in "abcdef")
    with pytest.raises(HostError, match=f"no pairing can be measured: {away}"):
        cast(Any, pool_of(lab, inventory, "LL", "one", "two", "three")).__enter__()
