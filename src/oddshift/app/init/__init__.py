"""A first configuration for somebody's file: look at its columns, choose, try the result, and write it with reasons.

What is written was loaded before: data are read and encoded once, so `oddshift audit` takes the file as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from oddshift.app.configuration import Config, parse_config
from oddshift.app.init.first_sections import ALPHA, DELTA, SectionChoice, data_section, quoted, rest, written_path
from oddshift.app.init.roles import Roles, roles_of
from oddshift.app.init.suggestion import suggest_epsilon
from oddshift.app.loading import Loaded, load_data
from oddshift.base.errors import InvalidInput
from oddshift.bounds import zero_failures
from oddshift.data.codecs import FROM_TEXT, data_folder
from oddshift.model.records import Split


@dataclass(frozen=True, kw_only=True)
class Beside:
    """Files of the user's that a text may need: word vectors, a spaCy pipeline (name or folder), a list of names."""

    vectors: Path | None = None
    pipeline: str = ""
    words: Path | None = None


@dataclass(frozen=True, kw_only=True)
class Started:
    """A first configuration, and the counts behind it; no value of a cell."""

    config: str
    roles: Roles
    epsilon: float
    secrets: int
    values: int
    tiers: tuple[str, ...]
    documents: tuple[int, int, int]
    certify_units: int
    needed_units: int
    unit: str
    detector: str
    notes: tuple[str, ...]


def start(path: Path, out: Path, beside: Beside | None = None) -> Started:
    """A configuration for a file, as text for `out`; the data are loaded with it before it is given."""
    roles = roles_of(path)
    choice = _choice(out, beside or Beside()) if roles.kind == "text" else SectionChoice()
    header = (
        f"# Written by oddshift init for {quoted(path.name)}. Every line can be changed; docs/audit.md has all keys.\n"
    )
    data = header + data_section(written_path(path, out), roles, choice)
    loaded = _loaded(f"{data}\n[mechanism]\nepsilon = 1.0\n", out, roles)
    split, tiers = loaded.split, loaded.tiers
    suggestion = suggest_epsilon(split.fit.space, tiers, np.random.default_rng(0))
    return Started(
        config=f"{data}\n{rest(suggestion, roles, len(tiers), alone=_alone(split))}",
        roles=roles,
        epsilon=suggestion.epsilon,
        secrets=sum(len(part.points) for part in (split.fit, split.select, split.certify)),
        values=len(split.fit.space),
        tiers=tiers.names,
        documents=(len(split.fit), len(split.select), len(split.certify)),
        certify_units=len(np.unique(split.certify.clusters)),
        needed_units=zero_failures(DELTA, ALPHA, "betting"),
        unit=split.by,
        detector=loaded.detector,
        notes=loaded.notes,
    )


def _alone(split: Split) -> bool:
    """Whether no document holds two secrets."""
    return all(np.diff(part.offsets).max(initial=0) <= 1 for part in (split.fit, split.select, split.certify))


def _loaded(text: str, out: Path, roles: Roles) -> Loaded:
    config: Config = parse_config(text, str(out), out.parent)
    try:
        return load_data(config)
    except InvalidInput as error:
        if roles.kind != "text" or "has a vector" not in str(error):
            raise
        raise InvalidInput(
            "no sensitive word was found that could be perturbed: name some with --words FILE (one on each line), or "
            "give a spaCy pipeline with --pipeline NAME_OR_FOLDER"
        ) from error


def _choice(out: Path, beside: Beside) -> SectionChoice:
    if find_spec("spacy") is None or find_spec("presidio_analyzer") is None:
        raise InvalidInput("text needs spaCy and Presidio; get them with: pip install 'oddshift[text]'")
    vectors, why = _vectors(beside.vectors, out)
    pipeline = beside.pipeline or _pipeline()
    folder = Path(pipeline)
    return SectionChoice(
        vectors=vectors,
        vectors_why=why,
        pipeline=written_path(folder, out) if pipeline and folder.is_dir() else pipeline,
        words=written_path(beside.words, out) if beside.words else "",
    )


def _vectors(given: Path | None, out: Path) -> tuple[str, str]:
    """A file that was given, else the data folder's GloVe, else the texts themselves."""
    if given is not None:
        return written_path(given, out), "GloVe .txt, fastText .vec, word2vec .bin or .npz"
    found = sorted(data_folder().glob("glove*.npz"))
    if found:
        return str(found[0].resolve()), "found in the data folder (ODDSHIFT_DATA)"
    return FROM_TEXT, "made from your texts, so rough: a file of GloVe vectors is better"


def _pipeline() -> str:
    """An installed spaCy pipeline, English ones first; else one in the data folder."""
    names = sorted((e.name for e in entry_points(group="spacy_models")), key=lambda n: (not n.startswith("en_"), n))
    folders = sorted(path.parent for path in data_folder().glob("ner/*/config.cfg"))
    return names[0] if names else str(folders[0].resolve()) if folders else ""
