"""What texts need in addition to their file: word vectors, and a way to find the sensitive words.

The least budget at which perturbed words are worth more than marks, computed for a first configuration of texts.

The first budget comes from distances alone, and with vectors of many dimensions it can ask for so much noise that one
constant word of each kind would serve as well. Whoever reads the configuration is told where that ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import entry_points
from importlib.util import find_spec
from math import exp
from pathlib import Path

from oddshift.adapt.evaluation import scale_family
from oddshift.adapt.form_cache import KeptForms
from oddshift.adapt.notes import break_even
from oddshift.app.init.sections import SectionChoice, written_path
from oddshift.app.init.suggestion import Suggestion
from oddshift.attackers.attacker import knowledge
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import FROM_TEXT, data_folder
from oddshift.data.preparation import Prepared
from oddshift.mechanisms import MechanismSettings
from oddshift.mechanisms.utility import constant_of_each_kind


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


COST = "cosine"


@dataclass(frozen=True)
class UsefulBudget:
    """Expected losses at a first budget and of one constant word of each kind, and the ε from which the noise pays.

    `epsilon` is None where no budget that was tried is large enough; `nearest` is the distance that odds refer to.
    """

    loss: float
    constant: float
    epsilon: float | None
    nearest: float

    @property
    def pays(self) -> bool:
        """Whether the first budget itself is large enough."""
        return self.loss < self.constant

    @property
    def sentence(self) -> str:
        """What to know, and what could be changed."""
        said = f"an expected loss of {self.loss:.3f}, where one constant word of each kind has {self.constant:.3f}"
        if self.pays:
            return f"words perturbed within this budget have {said}"
        marks = '[mechanism] name = "mask" reveals nothing that the rest does not, and serves as well'
        if self.epsilon is None:
            return f"words perturbed within this budget have {said}: {marks}"
        odds = exp(min(700.0, self.epsilon * self.nearest))
        return (
            f"words perturbed within this budget have {said}: {marks}; perturbed words cost less from epsilon = "
            f"{self.epsilon:.2g} on, where the odds between a word and its nearest alternative may change by a factor "
            f"of {odds:.3g}"
        )


def useful_budget(prepared: Prepared, suggestion: Suggestion) -> UsefulBudget | None:
    """Losses at the suggested budget and at multiples of it; None for tiers that are secret."""
    space, tiers = prepared.split.fit.space, prepared.tiers
    if not tiers.is_public:
        return None
    asked = MechanismSettings(epsilon=suggestion.epsilon, calibrated=True)
    family, forms = scale_family(asked, space, tiers, suggestion.epsilon), KeptForms()
    weights = knowledge(family(tiers), tiers, prepared.split.fit).weights

    def loss_at(multiple: float) -> float:
        return forms.of(family(tiers.with_scales((multiple,) * len(tiers))), weights, COST).loss

    constant = constant_of_each_kind(space, weights, COST, tiers.labels)[1]
    multiple = break_even(loss_at, constant)
    epsilon = None if multiple is None else multiple * suggestion.epsilon
    return UsefulBudget(loss_at(1.0), constant, epsilon, suggestion.nearest)
