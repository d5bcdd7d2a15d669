"""What is installed, which extras are missing, how to install them, and whether the core computes correctly.

Nothing heavy is imported: versions come from the metadata of the installed packages.
"""

from __future__ import annotations

import os
import platform
import tempfile
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import numpy as np
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from oddshift.data.codecs import data_folder
from oddshift.data.detectors.spans import cache_folder
from oddshift.leakage.exact import exact_leakage
from oddshift.model.prior import Joint

TOY = 1.845681
"""The joint leakage of the paper's two binary secrets, which a working core computes."""


@dataclass(frozen=True)
class Package:
    """A library that oddshift requires: the versions it accepts, the installed one (empty if none), and its extra."""

    name: str
    wanted: str
    version: str
    extra: str

    @property
    def holds(self) -> bool:
        """Whether it is installed, at a version that oddshift accepts."""
        return bool(self.version) and SpecifierSet(self.wanted).contains(self.version, prereleases=True)


@dataclass(frozen=True)
class Diagnosis:
    """What was found; `core_works` says that every library of the core is installed and a small example is right."""

    oddshift: str
    python: str
    system: str
    cpus: int
    memory_gb: float
    packages: tuple[Package, ...]
    pipelines: tuple[str, ...]
    data: str
    cache: str
    core_works: bool

    @property
    def missing(self) -> dict[str, str]:
        """For each incomplete extra the command that completes it; the core itself is listed as "core"."""
        incomplete = sorted({package.extra for package in self.packages if not package.holds})
        return {extra or "core": f"pip install '{_asked(extra)}'" for extra in incomplete}


def diagnose() -> Diagnosis:
    """Examine what is installed here."""
    packages = _packages()
    folder = data_folder()
    return Diagnosis(
        oddshift=metadata.version("oddshift"),
        python=platform.python_version(),
        system=f"{platform.system()} {platform.machine()}",
        cpus=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        memory_gb=_memory(),
        packages=packages,
        pipelines=tuple(sorted(entry.name for entry in metadata.entry_points(group="spacy_models"))),
        data=str(folder) if folder.is_dir() else "",
        cache=str(cache_folder()) if _can_write(cache_folder()) else "",
        core_works=all(package.holds for package in packages if not package.extra) and _computes(),
    )


def _asked(extra: str) -> str:
    return f"oddshift[{extra}]" if extra else "oddshift"


def _packages() -> tuple[Package, ...]:
    """Every library that oddshift's own metadata requires on this platform."""
    extras = ("", *(metadata.metadata("oddshift").get_all("Provides-Extra") or ()))
    found = []
    for line in metadata.requires("oddshift") or ():
        asked = Requirement(line)
        wanted_by = [extra for extra in extras if asked.marker is None or asked.marker.evaluate({"extra": extra})]
        if wanted_by:
            found.append(Package(asked.name, str(asked.specifier), _version(asked.name), wanted_by[0]))
    return tuple(sorted(found, key=lambda package: (package.extra, package.name)))


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _memory() -> float:
    """Gigabytes of memory; 0 where the system does not say."""
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)
    except (AttributeError, OSError, ValueError):
        return 0.0


def _can_write(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _computes() -> bool:
    release = np.log([[0.72, 0.28], [0.28, 0.72]])
    found = exact_leakage(Joint([[0.01, 0.49], [0.49, 0.01]]), [release, release], [[0.0, 1.0], [1.0, 0.0]])
    return abs(found.joint - TOY) < 1e-6
