"""A checkup: what is installed, which extras are missing and how to get them, and whether the core computes.

Nothing heavy is imported: versions come from the installed packages' metadata.
"""

from __future__ import annotations

import os
import platform
import re
import tempfile
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import numpy as np

from oddshift.data.codecs.corpora import data_folder
from oddshift.data.detectors.span_cache import cache_folder
from oddshift.leakage.exact import exact_leakage
from oddshift.model.prior import Joint

TOY = 1.845681
"""The joint leakage of the paper's two binary secrets: what a core that works computes."""

_REQUIREMENT = re.compile(r"([\w.-]+)(?:\[[^]]*\])?\s*([^;\[]*)(?:;.*extra\s*==\s*['\"](\w+)['\"])?")


@dataclass(frozen=True)
class Package:
    """A library that oddshift asks for: the versions it takes, the one installed (empty for none), and the extra."""

    name: str
    wanted: str
    version: str
    extra: str

    @property
    def holds(self) -> bool:
        """Installed, and at the exact version where one is asked for."""
        return bool(self.version) and (
            not self.wanted.startswith("==") or self.version.split("+")[0] == self.wanted[2:]
        )


@dataclass(frozen=True)
class Diagnosis:
    """What was found; `core_works` says that every library of the core is there and the toy comes out right."""

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
        """The command that completes each extra that is not complete; the core's under "core"."""
        incomplete = sorted({package.extra for package in self.packages if not package.holds})
        return {extra or "core": f"pip install '{_asked(extra)}'" for extra in incomplete}


def diagnose() -> Diagnosis:
    """Look at what is installed here."""
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
    """Every library of the package's own metadata."""
    found = []
    for line in metadata.requires("oddshift") or ():
        match = _REQUIREMENT.match(line)
        if match is not None:
            name, wanted, extra = match.group(1), match.group(2).strip(), match.group(3) or ""
            found.append(Package(name, wanted, _version(name), extra))
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
