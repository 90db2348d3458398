"""What a lab's name keeps: the same keys and addresses at the next up, and nobody else's file."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from labs import needs_a_lab_at_rest, ssh

from netlab import lab
from netlab.cli import cli
from netlab.config.inventory import load_inventory
from netlab.errors import HostError, UsageError
from netlab.lab import life, programs, state
from netlab.lab.plan import LabOptions, LabPlan, make_plan

NAME = f"k{os.getpid()}"
OTHER = f"{NAME}-2"
KEYS = ("id", "linux-a.key", "linux-b.key")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of this lab's keepsakes, not made yet."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "netlab" / "labs" / NAME


def what_is_pinned(of: lab.LabState) -> dict[str, tuple[str, str | None, tuple[str, ...]]]:
    assert of.hosts_file is not None
    hosts = {host.name: host for host in load_inventory(of.hosts_file).hosts}
    return {
        name: (str(host.ssh), host.host_key, tuple(sum(host.addresses.values(), ())))
        for name, host in hosts.items()
    }


class TestInALab:
    pytestmark = needs_a_lab_at_rest

    @pytest.fixture(autouse=True)
    def gone(self, place: Path) -> Iterator[None]:
        yield
        lab.down(NAME, forget=True)
        lab.down(OTHER, forget=True)

    def test_a_lab_has_the_same_keys_and_addresses_at_its_next_up(
        self, place: Path, tmp_path: Path
    ) -> None:
        first = lab.up(LabOptions(name=NAME))
        pinned = what_is_pinned(first)
        known_hosts, key = tmp_path / "known_hosts", tmp_path / "id"
        known_hosts.write_text((first.folder / "known_hosts").read_text())
        key.write_text((first.folder / "id").read_text())
        key.chmod(0o600)
        lab.down(NAME)
        second = lab.up(LabOptions(name=NAME, rate=1e8))
        assert what_is_pinned(second) == pinned
        address = second.hosts[0].management_address
        checks = ("-o", f"UserKnownHostsFile={known_hosts}", "-o", "StrictHostKeyChecking=yes")
        argv = ["ssh", "-F", "none", "-i", str(key), *checks, "-o", "BatchMode=yes"]
        process = subprocess.run(
            [*argv, f"netlab@{address}", "hostname"], capture_output=True, text=True, check=False
        )
        assert (process.returncode, process.stdout) == (0, "linux-a\n"), process.stderr

    def test_only_root_can_read_the_saved_keys_of_a_lab(self, place: Path) -> None:
        lab.up(LabOptions(name=NAME))
        lab.down(NAME)
        assert stat.S_IMODE(place.stat().st_mode) == 0o700
        files = {file.name: stat.S_IMODE(file.stat().st_mode) for file in place.iterdir()}
        assert files == dict.fromkeys([*KEYS, life.PLACE], 0o600)

    def test_lab_down_with_forget_gives_the_next_lab_new_keys(self, place: Path) -> None:
        old_pins = what_is_pinned(lab.up(LabOptions(name=NAME)))
        outcome = CliRunner().invoke(cli, ["lab", "down", "--name", NAME, "--forget"])
        assert outcome.exit_code == 0, outcome.output
        assert not place.exists()
        new_pins = what_is_pinned(lab.up(LabOptions(name=NAME)))
        assert new_pins.keys() == old_pins.keys()
        assert all(new_pins[name][1] != old_pins[name][1] for name in old_pins)

    def test_a_lab_that_is_down_keeps_its_addresses_while_another_lab_is_up(
        self, place: Path
    ) -> None:
        """Another name takes other addresses, also where those are free at the moment."""
        mine = what_is_pinned(lab.up(LabOptions(name=NAME)))
        lab.down(NAME)
        theirs = what_is_pinned(lab.up(LabOptions(name=OTHER)))
        assert {row[0] for row in mine.values()}.isdisjoint(row[0] for row in theirs.values())
        assert what_is_pinned(lab.up(LabOptions(name=NAME))) == mine

    def test_lab_up_refuses_a_saved_key_that_is_a_link_until_lab_down_forgets_the_key(
        self, place: Path, tmp_path: Path
    ) -> None:
        lab.up(LabOptions(name=NAME))
        lab.down(NAME)
        strange = tmp_path / "strange"
        programs.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(strange))
        (place / "linux-b.key").unlink()
        (place / "linux-b.key").symlink_to(strange)
        with pytest.raises(
            HostError, match=f"linux-b.key is not a regular file.*--name {NAME} --forget"
        ):
            lab.up(LabOptions(name=NAME))
        assert not state.folder_of(NAME).exists()
        lab.down(NAME, forget=True)
        assert strange.exists(), "what the link led to stays"
        lab_state = lab.up(LabOptions(name=NAME))
        assert ssh(lab_state, "linux-b", "hostname") == "linux-b"

    def test_lab_up_warns_if_the_keys_cannot_be_saved(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "file").touch()
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file" / "state"))
        messages: list[str] = []
        assert lab.up(LabOptions(name=NAME), messages.append).up
        folder = tmp_path / "file/state/netlab/labs"
        assert messages == [f"{folder}: Not a directory: the next `up` will have other keys"]


# ---- without root --------------------------------------------------------------------------------


def a_plan(name: str = NAME, **more: object) -> LabPlan:
    options = LabOptions(name)
    return make_plan(options, Path("/nowhere"), routes=[], taken_slots=(), **more)  # type: ignore[arg-type]


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A lab's folder with a key."""
    folder = tmp_path / "made"
    folder.mkdir()
    programs.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / "id"))
    return folder


@pytest.mark.needs("sshd")
def test_a_saved_key_of_a_lab_is_restored_unchanged(
    place: Path, made: Path, tmp_path: Path
) -> None:
    life.recall_keys(NAME, tmp_path, ["id"])
    assert not (tmp_path / "id").exists(), "nothing is kept yet"
    life.keep_keys(a_plan(), made, ["id"])
    life.recall_keys(NAME, tmp_path, ["id", "linux-a.key"])
    assert (tmp_path / "id").read_text() == (made / "id").read_text()
    public = (made / "id.pub").read_text()
    assert (tmp_path / "id.pub").read_text().split()[:2] == public.split()[:2]
    assert stat.S_IMODE((tmp_path / "id").stat().st_mode) == 0o600
    assert life.saved_places() == {NAME: (0, "198.19.0.0/24")}


def as_link(file: Path) -> None:
    file.rename(file.with_name("elsewhere"))
    file.symlink_to(file.with_name("elsewhere"))


def as_second_name(file: Path) -> None:
    file.with_name("elsewhere").hardlink_to(file)


def as_fifo(file: Path) -> None:
    file.unlink()
    os.mkfifo(file, 0o600)


def as_readable(file: Path) -> None:
    file.chmod(0o640)


def as_garbage(file: Path) -> None:
    file.write_text("no key\n")


def as_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


@pytest.mark.needs("sshd")
@pytest.mark.parametrize(
    "turn", [as_link, as_second_name, as_fifo, as_readable, as_garbage, as_folder]
)
def test_a_saved_key_that_is_not_a_private_regular_file_is_refused(
    place: Path, made: Path, tmp_path: Path, turn: Callable[[Path], None]
) -> None:
    life.keep_keys(a_plan(), made, ["id"])
    turn(place / "id")
    with pytest.raises(HostError, match=r"so it is not used: run `netlab lab down .*--forget`"):
        life.recall_keys(NAME, tmp_path, ["id"])


@pytest.mark.needs("root", "sshd")
def test_saved_keys_that_belong_to_another_account_are_refused(
    place: Path, made: Path, tmp_path: Path
) -> None:
    life.keep_keys(a_plan(), made, ["id"])
    os.chown(place / "id", 12345, 12345)
    with pytest.raises(HostError, match="id is accessible to others than root, so it is not used"):
        life.recall_keys(NAME, tmp_path, ["id"])
    os.chown(place / "id", 0, 0)
    os.chown(place, 12345, 12345)
    with pytest.raises(
        HostError, match="is accessible to others than root, so no keys of labs are kept"
    ):
        life.recall_keys(NAME, tmp_path, ["id"])
    assert life.saved_places() == {}


@pytest.mark.needs("sshd")
@pytest.mark.parametrize("depth", [0, 1, 2], ids=["lab", "labs", "netlab"])
def test_saved_keys_are_not_written_through_a_linked_folder(
    place: Path, made: Path, tmp_path: Path, depth: int
) -> None:
    life.keep_keys(a_plan(), made, ["id"])
    folder = [place, *place.parents][depth]
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(HostError, match=f"{place.parent}.* is not a real folder"):
        life.keep_keys(a_plan(), made, ["id"])
    if depth == 0:
        life.forget_keys(NAME)
        assert not folder.is_symlink()
        assert (tmp_path / "elsewhere" / "id").exists()


def test_a_lab_reuses_its_saved_addresses_and_avoids_the_saved_addresses_of_other_labs() -> None:
    kept_places = {NAME: (5, "10.219.5.0/24"), OTHER: (0, "198.19.0.0/24")}
    assert a_plan(places=kept_places).place == (5, "10.219.5.0/24")
    assert a_plan("third", places=kept_places).place == (1, "198.19.1.0/24")
    every = {f"lab-{slot}": (slot, f"198.19.{slot}.0/24") for slot in range(64)}
    assert a_plan("third", places=every).place == (0, "198.19.0.0/24"), "kept is not in use"


@pytest.mark.parametrize("name", ["..", "a/b", "", "/", "Lab"])
def test_lab_commands_refuse_a_name_that_is_a_path(name: str) -> None:
    for forget in (False, True):
        with pytest.raises(UsageError, match="a lab's name has 1 to 20 characters a-z, 0-9 and -"):
            lab.down(name, forget=forget)
    with pytest.raises(UsageError, match="a lab's name has 1 to 20 characters"):
        lab.status(name)
