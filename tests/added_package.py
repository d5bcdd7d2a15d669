"""A package of somebody else, examples/lantern, laid out on the path as pip would install it."""

import shutil
import sys
import tomllib
from pathlib import Path

import numpy as np

from oddshift.attackers import ATTACKERS
from oddshift.data.codecs import CODECS
from oddshift.data.detectors import DETECTORS
from oddshift.mechanisms import MECHANISMS
from oddshift.model.metric import METRICS

LANTERN = Path(__file__).resolve().parent.parent / "examples" / "lantern"
REGISTRIES = (METRICS, MECHANISMS, ATTACKERS, DETECTORS, CODECS)
PICTURES, PIXELS = 600, 4


def lay_out(site, version="1.0"):
    """Its modules and the metadata that pip writes for its pyproject.toml, in an empty folder or instead of others."""
    shutil.rmtree(site, ignore_errors=True)
    shutil.copytree(LANTERN / "src", site)
    project = tomllib.loads((LANTERN / "pyproject.toml").read_text())["project"]
    about = site / f"{project['name']}-{version}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {version}\n")
    lines = [
        line
        for group, points in project["entry-points"].items()
        for line in (f"[{group}]", *(f"{name} = {value}" for name, value in points.items()))
    ]
    (about / "entry_points.txt").write_text("\n".join([*lines, ""]))
    forget()


def forget():
    """What the registries found on the path, as in a new process."""
    for registry in REGISTRIES:
        registry.__dict__.pop("_others", None)
    for name in [name for name in sys.modules if name.split(".")[0] == "lantern"]:
        del sys.modules[name]


def shades_csv(folder):
    """Pictures whose pixels all have one shade: an attacker who knows that averages the noise away."""
    rng = np.random.default_rng(0)
    rows = [f"{number},{shade}" for number, shade in enumerate(rng.integers(0, 256, PICTURES)) for _ in range(PIXELS)]
    path = folder / "shades.csv"
    path.write_text("\n".join(["picture,shade", *rows, ""]))
    return path
