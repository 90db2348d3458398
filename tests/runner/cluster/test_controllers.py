"""The controllers of a run: which worker has which host, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future
from typing import Any, cast

import pytest
from loop_worker import LoopWorker

from netlab.errors import ClusterLost, HostError, HostGone
from netlab.experiment.cells import Cell
from netlab.experiment.hosts import LOOPBACK, Host
from netlab.experiment.schedule import Trial
from netlab.kinds import RoundTrip
from netlab.measurement.ends import Ends
from netlab.runner.cluster import worker as worker_room
from netlab.runner.ending import DaemonExecutor
from netlab.trial.record import Status

pytestmark = pytest.mark.needs("distributed", "cc", "linux")


def host(name: str, site: str | None = None) -> Host:
    return Host(name=name, os="L", local=True, addresses={"loopback": LOOPBACK}, site=site)


class FakeClient:
    """dask's client; every worker is this process, in the loop of one ``LoopWorker``."""

    def __init__(self, sites: Mapping[str, tuple[str, ...]], worker: LoopWorker) -> None:
        self.status = "running"
        self.sites = dict(sites)
        self.options: list[dict[str, Any]] = []
        self._worker = worker

    def scheduler_info(self, n_workers: int) -> dict[str, Any]:
        assert n_workers == -1
        return {"workers": {a: {"resources": dict.fromkeys(s, 1)} for a, s in self.sites.items()}}

    def run(self, function: Callable[..., Any], *words: Any, workers: list[str]) -> dict[str, Any]:
        if workers[0] not in self.sites:
            raise OSError("Stream is closed")
        return {workers[0]: self._worker.call(function(*words))}

    def get_executor(self, **options: Any) -> Executor:
        self.options.append(options)
        return DaemonExecutor()

    def close(self, timeout: float) -> None:
        self.status = "closed"


@pytest.fixture
def worker() -> Iterator[LoopWorker]:
    with LoopWorker() as worker:
        yield worker


class Stage:
    """Controllers over workers at these sites."""

    def __init__(
        self, worker: LoopWorker, monkeypatch: pytest.MonkeyPatch, **sites: tuple[str, ...]
    ) -> None:
        import distributed

        from netlab.runner.cluster.open import Controllers

        monkeypatch.setattr(distributed, "secede", lambda: None)
        monkeypatch.setattr(
            distributed, "get_worker", lambda: type("Worker", (), {"address": "tls://a"})
        )
        self.client = FakeClient({f"tls://{name}": of for name, of in sites.items()}, worker)
        self.controllers = Controllers(cast(Any, self.client), "tls://s:1")

    def places(self) -> dict[str, str]:
        return dict(self.controllers._places)


def test_a_host_is_assigned_to_a_worker_of_its_site_and_a_pair_of_one_site_to_one_worker(
    worker: LoopWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage(worker, monkeypatch, a=("north",), b=("north",), c=("south",))
    names = [host(f"n{number}", "north") for number in range(4)]
    south = host("s", "south")
    stage.controllers.arrange([(names[0], names[1]), (names[2], names[3]), (names[0], south)])
    places = stage.places()
    assert places["n0"] == places["n1"] != places["n2"] == places["n3"]
    assert places["s"] == "tls://c"


def test_hosts_of_a_full_mesh_are_spread_evenly_over_the_workers(
    worker: LoopWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage(worker, monkeypatch, a=(), b=(), c=(), d=())
    hosts = [host(f"h{number}") for number in range(16)]
    stage.controllers.arrange(
        [(one, other) for one in hosts for other in hosts if one is not other]
    )
    counts = list(stage.places().values())
    assert {counts.count(address) for address in stage.client.sites} == {4}


def test_a_host_whose_site_has_no_worker_is_reported_with_the_command_that_starts_a_worker(
    worker: LoopWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage(worker, monkeypatch, a=("north",))
    far = host("far", "south")
    stage.controllers.arrange([(far, host("near", "north"))])
    with pytest.raises(HostError, match=r'^far: .*the site south \(dask worker --resources "sou'):
        stage.controllers.open_agent(far, print)


def test_a_worker_of_another_netlab_version_is_refused(
    worker: LoopWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage(worker, monkeypatch, a=())
    monkeypatch.setattr(worker_room, "VERSION", "0.0.1")
    with pytest.raises(HostError, match=r"^h: its worker tls://a has netlab 0\.0\.1, this is"):
        stage.controllers.open_agent(host("h"), print)
    with pytest.raises(HostError, match="no worker of"):
        stage.controllers.open_agent(host("h"), print)


@pytest.mark.alone
def test_a_trial_is_measured_at_its_worker_without_retries_by_dask(
    worker: LoopWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage(worker, monkeypatch, a=())
    server, client = host("server"), host("client")
    agents = [stage.controllers.open_agent(one, print) for one in (server, client)]
    setup = RoundTrip(
        protocol="UDP", message_bytes=64, count=20, duration_s=None, network="loopback"
    )
    trial = Trial(cell=Cell(pairing="LL", test="round_trip", setup=setup), number=1)
    ends = Ends(server=agents[0], client=agents[1], same_host=True)
    record = stage.controllers.measure(trial, ends, 3, lambda *_: None)
    assert (record.status, record.attempt, record.cell) == (Status.OK, 3, trial.cell.key)
    assert record.values["transactions"] == 20
    wanted = {"workers": ["tls://a"], "allow_other_workers": False, "pure": False, "retries": 0}
    assert stage.client.options == [wanted] * 3
    stage.controllers.close()


@pytest.mark.parametrize(
    ("outcome", "text", "error", "sentence"),
    [
        ("host-gone", "b: silent", HostGone, "b: silent"),
        ("defect", "Traceback", RuntimeError, "at a worker:\nTraceback"),
        ("late", "", HostGone, "another trial"),
    ],
)
def test_an_answer_of_a_worker_that_is_no_record_of_the_trial_is_an_error(
    worker: LoopWorker,
    monkeypatch: pytest.MonkeyPatch,
    outcome: str,
    text: str,
    error: type[Exception],
    sentence: str,
) -> None:
    from netlab.runner.cluster.relay import Done, TrialOrder

    stage = Stage(worker, monkeypatch, a=())
    agents = [stage.controllers.open_agent(host(name), print) for name in ("one", "two")]

    class Answers(DaemonExecutor):
        def submit(self, _fn: Any, /, *words: Any, **_: Any) -> Future[Any]:
            order: TrialOrder = words[0]
            future: Future[Any] = Future()
            is_late = outcome == "late"
            kind: Any = "record" if is_late else outcome
            future.set_result(Done("old" if is_late else order.token, kind, text))
            return future

    monkeypatch.setattr(stage.client, "get_executor", lambda **_: Answers())
    setup = RoundTrip(protocol="UDP", message_bytes=64, count=20, duration_s=None)
    trial = Trial(cell=Cell(pairing="LL", test="round_trip", setup=setup), number=1)
    ends = Ends(server=agents[0], client=agents[1], same_host=True)
    with pytest.raises(error, match=sentence):
        stage.controllers.measure(trial, ends, 1, lambda *_: None)
    stage.controllers.close()


def test_a_lost_scheduler_is_reported(worker: LoopWorker, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(worker, monkeypatch, a=())
    stage.controllers.check()
    stage.client.status = "connecting"
    with pytest.raises(ClusterLost, match="the scheduler tls://s:1 is lost"):
        stage.controllers.check()
