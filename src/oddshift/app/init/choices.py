"""What texts need in addition to their file: word vectors, and a way to find the sensitive words."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

from oddshift.app.init.first_sections import SectionChoice, written_path
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import FROM_TEXT, data_folder


@dataclass(frozen=True, kw_only=True)
class OwnFiles:
    """Files of the user that texts may need: word vectors, a spaCy pipeline (name or folder), a list of names."""

    vectors: Path | None = None
    pipeline: str = ""
    words: Path | None = None


def text_choice(own: OwnFiles | None = None, out: Path | None = None) -> SectionChoice:
    """What was given; otherwise what is installed or in the data folder; paths are written relative to `out`."""
    if find_spec("spacy") is None or find_spec("presidio_analyzer") is None:
        raise InvalidInput("text needs spaCy and Presidio; get them with: pip install 'oddshift[text]'")
    files, config = own or OwnFiles(), out or Path("oddshift.toml")
    vectors, why = _vectors(files.vectors, config)
    pipeline = files.pipeline or _pipeline()
    folder = Path(pipeline)
    return SectionChoice(
        vectors=vectors,
        vectors_why=why,
        pipeline=written_path(folder, config) if pipeline and folder.is_dir() else pipeline,
        words=written_path(files.words, config) if files.words else "",
    )


def _vectors(given: Path | None, out: Path) -> tuple[str, str]:
    """A file that was given, otherwise GloVe from the data folder, otherwise the texts themselves."""
    if given is not None:
        return written_path(given, out), "GloVe .txt, fastText .vec, word2vec .bin or .npz"
    found = sorted(data_folder().glob("glove*.npz"))
    if found:
        return str(found[0].resolve()), "found in the data folder (ODDSHIFT_DATA)"
    return FROM_TEXT, "made from your texts, so they are rough: a file of GloVe vectors is better"


def _pipeline() -> str:
    """An installed spaCy pipeline, English ones first; otherwise one in the data folder."""
    names = sorted((e.name for e in entry_points(group="spacy_models")), key=lambda n: (not n.startswith("en_"), n))
    folders = sorted(path.parent for path in data_folder().glob("ner/*/config.cfg"))
    return names[0] if names else str(folders[0].resolve()) if folders else ""
