"""Files out of Debian's packages: apt fetches and checks them, dpkg-deb opens them, and nothing is
installed. Needs no root.
"""

from __future__ import annotations

import os
import re
import subprocess
import tarfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

FETCH_S = 600.0
OLDER = {"trixie": "bookworm", "bookworm": "bullseye"}
"""Release → the one before it."""
MIRROR = "http://deb.debian.org/debian/"
KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
APT = """\
Dir::State "{folder}";
Dir::State::status "{folder}/status";
Dir::Cache "{folder}";
Dir::Etc::sourcelist "{folder}/sources.list";
Dir::Etc::sourceparts "{folder}/none";
Dir::Etc::preferencesparts "{folder}/none";
Acquire::Languages "none";
"""
ONLY_NEEDED = [
    f"--no-{relation}"
    for relation in ("recommends", "suggests", "conflicts", "breaks", "replaces", "enhances")
]


def _said(argv: list[str], environment: dict[str, str], folder: Path) -> str:
    process = subprocess.run(
        argv,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=FETCH_S,
        check=False,
    )
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(argv)}: {process.stderr.strip()[-500:]}")
    return process.stdout


@dataclass(frozen=True)
class Debian:
    """One release of Debian: this machine's, or the one before it, with lists of its own."""

    folder: Path
    """Where packages are put."""
    older: bool = False

    @cached_property
    def _environment(self) -> dict[str, str]:
        self.folder.mkdir(parents=True, exist_ok=True)
        environment = {**os.environ, "LC_ALL": "C"}
        if not self.older:
            return environment
        folder = self.folder / "apt"
        for name in ("lists/partial", "archives/partial", "none"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / "status").touch()
        release = _release(environment, self.folder)
        trust = f"[signed-by={KEYS}] " if KEYS.exists() else ""
        (folder / "sources.list").write_text(f"deb {trust}{release} main\n")
        (folder / "apt.conf").write_text(APT.format(folder=folder))
        environment["APT_CONFIG"] = str(folder / "apt.conf")
        _said(["apt-get", "-qq", "update"], environment, self.folder)
        return environment

    def kernel(self) -> str:
        """The package of the kernel that ``linux-image-amd64`` stands for."""
        text = _said(["apt-cache", "depends", "linux-image-amd64"], self._environment, self.folder)
        (name,) = re.findall(r"Depends: (linux-image-\S+)", text)
        return str(name)

    def libraries_of(self, *packages: str) -> list[str]:
        """The packages of libraries that these depend on, however far."""
        argv = ["apt-cache", "depends", "--recurse", *ONLY_NEEDED, *packages]
        names = _said(argv, self._environment, self.folder).splitlines()
        return sorted(
            {name for name in names if re.fullmatch(r"(lib|zlib)[a-z0-9.+-]+", name)}
            - {name for name in names if "perl" in name or name.endswith("-common")}
        )

    def fetched(self, *packages: str) -> list[Path]:
        """The files of these packages, whose digests apt has checked."""
        argv = ["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", *packages]
        _said(argv, self._environment, self.folder)
        return [path for name in packages for path in self.folder.glob(f"{name}_*.deb")]


def _release(environment: dict[str, str], folder: Path) -> str:
    """Address and name of the release before this machine's, where this machine finds Debian."""
    words = Path("/etc/os-release").read_text()
    found = re.search(r"^VERSION_CODENAME=(\w+)", words, re.MULTILINE)
    if found is None or found[1] not in OLDER:
        raise RuntimeError("this system is no release of Debian whose predecessor is known")
    argv = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"]
    mirrors = [uri for uri in _said(argv, environment, folder).split() if uri.endswith("/debian/")]
    return f"{(mirrors or [MIRROR])[0]} {OLDER[found[1]]}"


def files_in(package: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    """Path (without a slash before it) and content of a package's regular files."""
    argv = ["dpkg-deb", "--fsys-tarfile", str(package)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        with tarfile.open(fileobj=process.stdout, mode="r|") as archive:
            for member in archive:
                name = member.name.removeprefix("./")
                if member.isfile() and wanted(name):
                    content = archive.extractfile(member)
                    assert content is not None
                    yield name, content.read()
    assert process.returncode == 0, f"dpkg-deb cannot read {package}"


def unpacked(packages: Iterable[Path], into: Path) -> None:
    """Unpack whole packages beside each other."""
    into.mkdir(parents=True, exist_ok=True)
    for package in packages:
        subprocess.run(["dpkg-deb", "--extract", str(package), str(into)], check=True)
