"""Copies the probe's sources and the matrices into the package, for an installed netlab.

pyproject.toml names the class ``BuildPy`` as setuptools' ``build_py``. Setuptools imports this
module by its path during the build, when no other module of netlab can be imported.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from setuptools.command.build_py import build_py

LAID = {
    "netlab/probes/source": ("probes", ("Makefile", "*.mk", "src/**/*.[ch]")),
    "netlab/matrices": ("matrices", ("*.yaml",)),
}
"""Folder in the package → folder of the files to copy, and their patterns. If the folder
to copy from is missing, no files are copied; it is missing when the probes of a release were built
beforehand."""


class BuildPy(build_py):
    """Setuptools' build step, which also copies the files of ``LAID``; an editable install needs
    none."""

    def run(self) -> None:
        """Copy all files."""
        super().run()
        for place, path in self._laid():
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, place)

    def get_source_files(self) -> list[str]:
        """All source files, for an sdist."""
        ours = super().get_source_files()  # type: ignore[no-untyped-call]  # its stub has none
        return [*ours, *(str(path) for _, path in _files())]

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        """All installed files."""
        return [
            *super().get_outputs(include_bytecode),
            *(str(place) for place, _ in self._laid()),
        ]

    def _laid(self) -> list[tuple[Path, Path]]:
        files = [] if self.editable_mode else _files()
        return [(Path(self.build_lib) / place, path) for place, path in files]


def _files() -> list[tuple[Path, Path]]:
    """Pairs of path in the package and file, relative to the project's folder."""
    return [
        (Path(place) / path.relative_to(folder), path)
        for place, (folder, patterns) in LAID.items()
        for pattern in patterns
        for path in sorted(Path(folder).glob(pattern))
    ]
