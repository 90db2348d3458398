"""Keeps a lab's keys and address ranges from one ``up`` to the next ``up`` of the same name.

Therefore host keys that somebody has pinned stay valid. Keys are secrets: the folder has mode 0700
and each file 0600. Links, and files of other accounts, are refused in this folder. Files are opened
relative to open folders, so that nobody can swap a folder between its check and its use.
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
"""Maximum length of a kept file; a key has about 400 bytes."""
OTHERS_MAY_ANYTHING = 0o077
OTHERS_MAY_WRITE = 0o022


def root() -> Path:
    """The folder of all labs' kept files: under XDG_STATE_HOME if it is set, else /var/lib."""
    state = Path(os.environ.get("XDG_STATE_HOME", ""))
    return (state if state.is_absolute() else Path("/var/lib")) / "netlab" / "labs"


def recall(name: str, into: Path, keys: Iterable[str]) -> None:
    """Write the kept ``keys`` of a lab into its folder, with their public halves.

    Raises HostError if a file is accessible to others than root, or is not a key.
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
                raise HostError(_refusal(name, key, "is not a key")) from None
            file.with_name(key + ".pub").write_text(public)


def keep(plan: LabPlan, source: Path, keys: Iterable[str]) -> None:
    """Keep those ``keys`` of a lab's folder that are not kept yet, and its address ranges."""
    with _folder(plan.name, make=True) as folder:
        for key in keys:
            with suppress(FileExistsError):
                _write(folder, key, (source / key).read_bytes())
        # The addresses differ from the kept ones if the machine now has a route into the kept
        # ranges.
        with suppress(FileNotFoundError):
            os.unlink(PLACE, dir_fd=folder)
        _write(folder, PLACE, json.dumps(plan.place).encode())


def places() -> Mapping[str, Place]:
    """Lab → its address ranges when it was up last. Files accessible to others are ignored."""
    ranges: dict[str, Place] = {}
    with suppress(OSError):
        for name in sorted(entry.name for entry in root().iterdir()):
            with suppress(HostError, ValueError, TypeError), _folder(name) as folder:
                text = None if folder is None else _read(name, folder, PLACE)
                if text is not None:
                    slot, management = json.loads(text)
                    ranges[name] = int(slot), str(management)
    return ranges


def forget(name: str) -> None:
    """Remove the kept files of a lab; a link is removed itself and not followed."""
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
    """The open folder of a lab (without ``name``: the folder of all labs); ``None`` if missing."""
    labs = root()
    steps = [labs.parent.name, labs.name, *([] if name is None else [name])]
    descriptors: list[int] = []
    try:
        if make:
            labs.parent.parent.mkdir(parents=True, exist_ok=True)
        try:
            descriptors.append(os.open(labs.parent.parent, os.O_RDONLY | os.O_DIRECTORY))
            for step in steps:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(step, 0o700, dir_fd=descriptors[-1])
                descriptors.append(_open_folder(step, descriptors[-1], labs, private=step == name))
        except OSError:
            if make:
                raise
            yield None
            return
        yield descriptors[-1]
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def _open_folder(step: str, above: int, labs: Path, *, private: bool) -> int:
    path = labs / step if private else labs
    try:
        folder = os.open(step, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=above)
    except FileNotFoundError:
        raise
    except OSError:
        raise HostError(_foreign(path, "is not a real folder")) from None
    info = os.fstat(folder)
    unwanted = OTHERS_MAY_ANYTHING if private else OTHERS_MAY_WRITE
    if info.st_uid != os.geteuid() or info.st_mode & unwanted:
        os.close(folder)
        raise HostError(_foreign(path, "is accessible to others than root"))
    return folder


def _read(name: str, folder: int, file: str) -> bytes | None:
    """A kept file's content; ``None`` if there is no such file. Raises HostError if others than
    root can access the file.
    """
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError:
        raise HostError(_refusal(name, file, "is not a regular file")) from None
    try:
        info = os.fstat(descriptor)
        own = stat.S_ISREG(info.st_mode) and info.st_nlink == 1
        if not own or info.st_uid != os.geteuid() or info.st_mode & OTHERS_MAY_ANYTHING:
            raise HostError(_refusal(name, file, "is accessible to others than root"))
        return os.read(descriptor, MOST_BYTES)
    finally:
        os.close(descriptor)


def _write(folder: int | None, file: str, content: bytes) -> None:
    """Write a file that nobody else can ever read; FileExistsError if it exists."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with os.fdopen(os.open(file, flags, 0o600, dir_fd=folder), "wb") as stream:
        stream.write(content)


def _refusal(name: str, file: str, complaint: str) -> str:
    remedy = f"run `netlab lab down --name {name} --forget`; the next `up` makes new keys"
    return f"{root() / name / file} {complaint}, so it is not used: {remedy}"


def _foreign(path: Path, complaint: str) -> str:
    return f"{path} {complaint}, so no keys of labs are kept there: remove it"
