"""What a lab's name keeps from one ``up`` to the next: its keys, and where its addresses begin.

So the host keys that somebody pinned yesterday hold today. Keys are secrets: the folder is 0700,
each file 0600, and whatever else lies there (a link, a file of another account) is refused and
never followed. All of it is read and written below open folders, so that nobody can swap a folder
between the look at it and its use.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from netlab.errors import HostError
from netlab.lab.plan import LabPlan, Place
from netlab.lab.programs import run

PLACE = "place.json"
MOST_BYTES = 65536
"""A key has some 400 bytes."""
OTHERS_MAY_ANYTHING = 0o077
OTHERS_MAY_WRITE = 0o022


def root() -> Path:
    """The folder of all labs' keepsakes: under XDG_STATE_HOME where that is set, else /var/lib."""
    given = Path(os.environ.get("XDG_STATE_HOME", ""))
    return (given if given.is_absolute() else Path("/var/lib")) / "netlab" / "labs"


def recall(name: str, into: Path, keys: Iterable[str]) -> None:
    """Write those ``keys`` of a lab that are kept into its folder, with their public halves.

    Raises HostError where one of them is not root's alone, or no key.
    """
    with _folder(name) as folder:
        for key in keys:
            private = None if folder is None else _read(name, folder, key)
            if private is None:
                continue
            file = into / key
            _write(None, str(file), private)
            try:
                public = run("ssh-keygen", "-y", "-P", "", "-f", str(file))
            except HostError:
                raise HostError(_refusal(name, key, "is no key")) from None
            file.with_name(key + ".pub").write_text(public)


def keep(plan: LabPlan, made: Path, keys: Iterable[str]) -> None:
    """Keep the ``keys`` in a lab's folder that are not kept yet, and where its addresses begin."""
    with _folder(plan.name, make=True) as folder:
        for key in keys:
            with suppress(FileExistsError):
                _write(folder, key, (made / key).read_bytes())
        # The addresses may be others than those kept, where somebody has a route into those now.
        with suppress(FileNotFoundError):
            os.unlink(PLACE, dir_fd=folder)
        _write(folder, PLACE, json.dumps(plan.place).encode())


def places() -> Mapping[str, Place]:
    """Lab → where its addresses began when it was up last; nothing of what is not root's alone."""
    found: dict[str, Place] = {}
    with suppress(OSError):
        for name in sorted(each.name for each in root().iterdir()):
            with suppress(HostError, ValueError, TypeError), _folder(name) as folder:
                text = None if folder is None else _read(name, folder, PLACE)
                if text is not None:
                    slot, management = json.loads(text)
                    found[name] = int(slot), str(management)
    return found


def forget(name: str) -> None:
    """Remove what a lab's name keeps; a link itself, and nothing of where it leads."""
    with _folder(None) as labs:
        if labs is None:
            return
        try:
            kind = os.stat(name, dir_fd=labs, follow_symlinks=False).st_mode
        except FileNotFoundError:
            return
        if stat.S_ISDIR(kind):
            shutil.rmtree(name, dir_fd=labs)
        else:
            os.unlink(name, dir_fd=labs)


@contextmanager
def _folder(name: str | None, *, make: bool = False) -> Iterator[int | None]:
    """The open folder of a lab, of all labs without a name; ``None`` where there is none."""
    labs = root()
    steps = [labs.parent.name, labs.name, *([] if name is None else [name])]
    opened: list[int] = []
    try:
        if make:
            labs.parent.parent.mkdir(parents=True, exist_ok=True)
        try:
            opened.append(os.open(labs.parent.parent, os.O_RDONLY | os.O_DIRECTORY))
            for step in steps:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(step, 0o700, dir_fd=opened[-1])
                opened.append(_open_folder(step, opened[-1], labs, private=step == name))
        except OSError:
            if make:
                raise
            yield None
            return
        yield opened[-1]
    finally:
        for each in opened:
            os.close(each)


def _open_folder(step: str, above: int, labs: Path, *, private: bool) -> int:
    path = labs / step if private else labs
    try:
        folder = os.open(step, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=above)
    except FileNotFoundError:
        raise
    except OSError:
        raise HostError(_foreign(path, "is no folder of its own")) from None
    found = os.fstat(folder)
    unwanted = OTHERS_MAY_ANYTHING if private else OTHERS_MAY_WRITE
    if found.st_uid != os.geteuid() or found.st_mode & unwanted:
        os.close(folder)
        raise HostError(_foreign(path, "is not root's alone"))
    return folder


def _read(name: str, folder: int, file: str) -> bytes | None:
    """A kept file's content; ``None`` where there is none. HostError for what is not root's."""
    try:
        opened = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError:
        raise HostError(_refusal(name, file, "is no file of its own")) from None
    try:
        found = os.fstat(opened)
        own = stat.S_ISREG(found.st_mode) and found.st_nlink == 1
        if not own or found.st_uid != os.geteuid() or found.st_mode & OTHERS_MAY_ANYTHING:
            raise HostError(_refusal(name, file, "is not root's alone"))
        return os.read(opened, MOST_BYTES)
    finally:
        os.close(opened)


def _write(folder: int | None, file: str, content: bytes) -> None:
    """A file that nobody else could read from its first byte on; FileExistsError where one is."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with os.fdopen(os.open(file, flags, 0o600, dir_fd=folder), "wb") as opened:
        opened.write(content)


def _refusal(name: str, file: str, what: str) -> str:
    anew = f"`netlab lab down --name {name} --forget`, and the next `up` makes new keys"
    return f"{root() / name / file} {what}, and is not used: {anew}"


def _foreign(path: Path, what: str) -> str:
    return f"{path} {what}, and the keys of labs are not kept there: remove it"
