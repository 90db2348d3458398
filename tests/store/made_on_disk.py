"""A script: writes, locks and refuses in a folder as netlab's store does, and says what it saw."""

from __future__ import annotations

import sys
from pathlib import Path

from netlab.errors import LockedError, StoreError
from netlab.store.files import make_folder, read_inside, write_private
from netlab.store.journal import Journal, read_journal
from netlab.store.journal_reading import WriterLock, holder


def main(folder: Path) -> None:
    make_folder(folder / "a" / "run")
    run = folder / "a" / "run"
    journal = Journal.open(run / "journal.jsonl")
    journal.append('{"kind": "one", "at": ""}')
    journal.close()
    with (run / "journal.jsonl").open("ab") as torn:
        torn.write(b"00000000 {")
    again = Journal.open(run / "journal.jsonl")
    again.append('{"kind": "two", "at": ""}')
    again.close()
    lines, damage = read_journal(run / "journal.jsonl")
    print([line.data["kind"] for line in lines], [place.line for place in damage])

    for data in (b"first\n", b"second\r\n\x1a\n"):
        write_private(run, "inner", "kept", data)
    print(read_inside(run / "inner" / "kept", 100), sorted(entry.name for entry in run.iterdir()))

    lock = WriterLock.acquire(run / "lock")
    print(str(holder(run / "lock")).partition(" with ")[0])
    try:
        WriterLock.acquire(run / "lock")
    except LockedError as error:
        print("is writing here" in str(error))
    lock.release()
    print(holder(run / "lock"))
    WriterLock.acquire(run / "lock").release()

    if len(sys.argv) > 2:
        refuse_links(run)


def refuse_links(run: Path) -> None:
    outside = run.parent / "outside"
    outside.mkdir()
    (outside / "kept").write_bytes(b"theirs")
    (run / "linked").symlink_to(outside)
    (run / "file").symlink_to(outside / "kept")
    for call in (
        lambda: write_private(run, "linked", "kept", b"ours"),
        lambda: print(read_inside(run / "file", 100)),
        lambda: Journal.open(run / "file"),
        lambda: WriterLock.acquire(run / "file"),
    ):
        try:
            call()
        except StoreError as error:
            print("it is a link" in str(error))
    print((outside / "kept").read_bytes())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
