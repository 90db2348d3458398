"""What can go wrong with the files of the undo log: nothing foreign or damaged is ever run."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from faulty_probe import faulty_probe
from netprobe_agents import Agent, netprobe, started
from undo_logs import SLOT_BYTES, Notes, guard, keys_of, leftovers, notes, orphan, undo

__all__ = ["faulty_probe", "netprobe", "notes"]

pytestmark = [pytest.mark.lab, pytest.mark.needs("linux")]

NOBODY = 65534


def change(path: Path, at: int, bytes_: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(bytes_)


# ---- damaged entries ----


def cut_short(path: Path) -> None:
    os.truncate(path, 2 * SLOT_BYTES - 1)


def change_a_word(path: Path) -> None:
    text = path.read_bytes()
    change(path, text.index(b"echo 2"), b"evil")


def change_the_length(path: Path) -> None:
    change(path, SLOT_BYTES + 8, b"\xff\xff\xff\xff")


def write_half(path: Path) -> None:
    change(path, SLOT_BYTES + 100, bytes(SLOT_BYTES // 2))


@pytest.mark.parametrize("damage", [cut_short, change_a_word, change_the_length, write_half])
def test_a_damaged_undo_entry_is_listed_and_never_run(
    netprobe: Path, notes: Notes, damage: Callable[[Path], None]
) -> None:
    entries = orphan(netprobe, notes.command(1), notes.command(2))
    damage(notes.files()[0])
    with Agent(netprobe) as agent:
        entry, damaged = leftovers(agent)
        assert entry["entry"] == entries[0]
        assert (damaged["damaged"], damaged["file"]) == (1, str(notes.files()[0]))
        assert "entry" not in damaged
        assert undo(agent, entries[1]).last["error"] == "unknown-entry"
        assert "left" not in undo(agent, entries[0]).last
        assert [record.get("damaged") for record in leftovers(agent)] == [1]
    assert notes.lines() == ["1"]


def test_a_keeper_skips_a_damaged_undo_entry_and_leaves_its_file(
    netprobe: Path, notes: Notes
) -> None:
    agent = Agent(netprobe)
    for number in (1, 2, 3):
        guard(agent, *notes.command(number))
    change_a_word(notes.files()[0])
    agent.kill()
    assert notes.settled()
    assert notes.lines() == ["3", "1"]
    with Agent(netprobe) as other:
        assert [record.get("damaged") for record in leftovers(other)] == [1]


def test_an_agent_skips_a_damaged_undo_entry_at_its_end(netprobe: Path, notes: Notes) -> None:
    with Agent(netprobe) as agent:
        for number in (1, 2, 3):
            guard(agent, *notes.command(number))
        change_a_word(notes.files()[0])
    assert notes.lines() == ["3", "1"]
    assert len(notes.files()) == 1


def test_an_agent_removes_an_empty_file_of_the_undo_log_and_no_foreign_file(
    netprobe: Path, notes: Notes
) -> None:
    with Agent(netprobe) as agent:
        guard(agent, "true")
        (notes.log / "0123456789abcdef").touch(mode=0o600)
        (notes.log / "README").write_text("a file of somebody else")
        (notes.log / "0123456789abcdeF").write_text("another one")
        assert leftovers(agent) == []
        assert len(notes.files()) == 3
    assert {path.name for path in notes.files()} == {"README", "0123456789abcdeF"}


def test_undo_entries_of_another_machine_are_neither_listed_nor_run(
    netprobe: Path, notes: Notes
) -> None:
    """Of a home folder that several hosts share."""
    (entry,) = orphan(netprobe, notes.command(1))
    (file,) = notes.files()
    slot = bytearray(file.read_bytes())
    length = int.from_bytes(slot[8:12], "big")
    slot[50] ^= 1  # the first character of the machine's id
    slot[12:16] = checksum(bytes(slot[16 : 16 + length])).to_bytes(4, "big")
    file.write_bytes(slot)
    with Agent(netprobe) as agent:
        name = agent.start("leftovers")
        last = agent.next(name)
        assert (last["type"], last["count"], last["elsewhere"]) == ("leftovers", 0, 1)
        assert undo(agent, entry).last["error"] == "unknown-entry"
    assert notes.lines() == []
    assert notes.files() == [file]


def checksum(body: bytes) -> int:
    crc = 0xFFFFFFFF ^ len(body)
    for byte in body:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0xEDB88320 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


# ---- what stands in the place of the folder or of a file ----


def put_link(folder: Path) -> None:
    target = folder.parent / "target"
    folder.rename(target)
    folder.symlink_to(target)


def open_to_others(folder: Path) -> None:
    folder.chmod(0o777)


def put_file(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("")


@pytest.mark.parametrize("of", ["netlab", "netlab/undo"])
@pytest.mark.parametrize("fault", [put_link, open_to_others, put_file])
def test_an_undo_folder_that_is_not_private_is_refused(
    netprobe: Path, notes: Notes, of: str, fault: Callable[[Path], None]
) -> None:
    (entry,) = orphan(netprobe, notes.command(1))
    fault(notes.state / of)
    with Agent(netprobe) as agent:
        answers = [
            agent.ask("guard", **keys_of(*notes.command(2))),
            agent.ask("undo", entry=entry),
            agent.ask("leftovers"),
        ]
        for answer in answers:
            assert answer["error"] == "permission-denied", answer
            assert str(notes.state / of) in answer["detail"]
    assert notes.lines() == []


def put_file_link(file: Path) -> None:
    target = file.parents[3] / "target"
    shutil.copy(file, target)
    file.unlink()
    file.symlink_to(target)


def put_second_name(file: Path) -> None:
    os.link(file, file.parents[3] / "second")


def put_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file, 0o600)


@pytest.mark.parametrize("fault", [put_file_link, put_second_name, put_pipe, open_to_others])
def test_an_undo_file_that_is_not_private_is_listed_as_damaged_and_never_run(
    netprobe: Path, notes: Notes, fault: Callable[[Path], None]
) -> None:
    (entry,) = orphan(netprobe, notes.command(1))
    fault(notes.files()[0])
    with Agent(netprobe) as agent:
        (record,) = leftovers(agent)
        assert record["damaged"] == 1
        assert record["file"].endswith(entry.partition("-")[0])
        assert undo(agent, entry).last["error"] == "unknown-entry"
    assert notes.lines() == []


def test_without_a_home_folder_no_undo_entry_is_registered(
    netprobe: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.delenv("HOME")
    with Agent(netprobe) as agent:
        assert agent.ask("guard", **keys_of("true"))["error"] == "system"
        assert leftovers(agent) == []
    monkeypatch.setenv("HOME", str(tmp_path))
    with Agent(netprobe) as agent:
        guard(agent, "true")
        assert len(list((tmp_path / ".local/state/netlab/undo").iterdir())) == 1


@pytest.mark.needs("root")
def test_a_home_folder_of_another_account_is_refused_for_the_undo_log(
    netprobe: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As with sudo, where HOME may stay that of the account that calls it."""
    monkeypatch.delenv("XDG_STATE_HOME")
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, NOBODY, NOBODY)
    monkeypatch.setenv("HOME", str(home))
    with Agent(netprobe) as agent:
        assert agent.ask("guard", **keys_of("true"))["error"] == "permission-denied"
        assert list(home.iterdir()) == []


# ---- a disk and a host that refuse ----


@pytest.mark.needs("cc")
@pytest.mark.parametrize(("fault", "number"), [("sync-file", 5), ("sync-folder", 5), ("fork", 11)])
def test_an_undo_entry_that_cannot_be_synced_is_not_registered(
    faulty_probe: Path, notes: Notes, monkeypatch: pytest.MonkeyPatch, fault: str, number: int
) -> None:
    monkeypatch.setenv("FAULTY", fault)
    for ending in ("end", "kill"):
        agent = Agent(faulty_probe)
        answer = agent.ask("guard", **keys_of(*notes.command(1)))
        assert (answer["error"], answer["errno"]) == ("system", number)
        if ending == "kill":
            agent.kill()
        else:
            with agent:
                pass
        assert notes.settled()
        assert notes.lines() == []
    monkeypatch.delenv("FAULTY")
    with Agent(faulty_probe) as agent:
        assert leftovers(agent) == []


@pytest.fixture
def small_disk(notes: Notes) -> Iterator[Path]:
    """The log on a disk of its own, with room for few entries."""
    argv = ["mount", "-t", "tmpfs", "-o", "size=32k,mode=700", "none", str(notes.state)]
    subprocess.run(argv, check=True)
    yield notes.state
    subprocess.run(["umount", str(notes.state)], check=True)


@pytest.mark.needs("root")
@pytest.mark.parametrize("ending", ["end", "kill"])
@pytest.mark.usefixtures("small_disk")
def test_a_full_disk_refuses_a_new_undo_entry_and_earlier_entries_are_undone(
    netprobe: Path, notes: Notes, ending: str
) -> None:
    agent = Agent(netprobe)
    count = 0
    while "entry" in (answer := agent.ask("guard", **keys_of(*notes.command(count)))):
        count += 1
    assert (answer["error"], answer["errno"]) == ("system", 28)
    assert 1 <= count <= 4
    if ending == "kill":
        agent.kill()
    else:
        with agent:
            pass
    assert notes.settled()
    assert notes.lines() == [str(number) for number in reversed(range(count))]
    assert notes.files() == []


UNKILLABLE = """
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
int main(int count, char **words)
{
    if (count < 2 || setuid(0) != 0)
        return 1;
    puts("up");
    fflush(stdout);
    sleep(2);
    umask(0);
    FILE *notes = fopen(words[1], "a");
    if (notes == NULL)
        return 1;
    fputs("change\\n", notes);
    return fclose(notes);
}
"""


@pytest.fixture
def folder_of_nobody() -> Iterator[Path]:
    """Pytest's own folders are closed to other accounts."""
    folder = Path(tempfile.mkdtemp())
    os.chown(folder, NOBODY, NOBODY)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.needs("root", "cc", "setpriv")
def test_a_program_that_runs_as_root_ends_before_its_change_is_undone(
    netprobe: Path, folder_of_nobody: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As sudo does: nobody of the account can kill it."""
    folder, notes = folder_of_nobody, Notes(folder_of_nobody)
    monkeypatch.setenv("XDG_STATE_HOME", str(notes.state))
    source, program, script = (folder / name for name in ("change.c", "change", "agent"))
    source.write_text(UNKILLABLE)
    subprocess.run(["gcc", "-o", str(program), str(source)], check=True)
    program.chmod(0o4755)
    probe = shutil.copy(netprobe, folder / "netprobe")
    identity = f"--reuid={NOBODY} --regid={NOBODY} --clear-groups"
    script.write_text(f'#!/bin/sh\nexec setpriv {identity} {probe} "$@"\n')
    script.chmod(0o755)
    agent = Agent(script)
    guard(agent, *notes.command("undone"))
    name = started(agent, str(program), str(folder / "notes"))
    assert agent.next(name)["text"] == "up\n"
    agent.kill()
    assert notes.settled()
    assert notes.lines() == ["change", "undone"]
