"""Every registered modality keeps the same promises."""

import numpy as np
import pytest

from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import (
    MODALITIES,
    Encoded,
    LocationSettings,
    TableSettings,
    Trajectories,
    WordVectors,
    encode,
    encode_locations,
    encode_table,
    encode_vectors,
    tokenise,
)
from oddshift.data.codecs.lexicon import build_lexicon
from oddshift.data.detectors import Occurrences, TypeTags

TEXTS = ("Secretann met Secretbob.", "Nobody came.", "secretbob left.")


def _text():
    tokens = tokenise(TEXTS, "plain")
    seen: Occurrences = tokens.occurrences
    labels = np.array([0 if word.startswith("secret") else -1 for word in seen.types])
    tags = TypeTags(labels, (labels >= 0)[:, None] * seen.totals[:, None], seen.totals, ("PII",))
    vectors = WordVectors(("secretann", "secretbob"), np.array([[0.0, 1.0], [4.5, 0.0]], dtype=np.float32))
    return encode(tokens, build_lexicon(seen, tags, vectors, is_public=True))


def _table():
    columns = {"pay": [777.5, 888.5, 999.5], "city": ["secretoslo", "secretrome", "secretoslo"]}
    return encode_table(columns, TableSettings(numeric=("pay",), categorical=("city",)))


def _location():
    places = np.array([[39.98765, 116.31], [40.1, 116.5], [39.98765, 116.31]])
    fixes = Trajectories(places, np.array([0.0, 1.0, 2.0]), np.array([0, 0, 1]), np.array([0, 0, 1]))
    return encode_locations(fixes, LocationSettings(every=None))


def _vectors():
    return encode_vectors([[777.5, 0.0], [888.5, 1.0], [777.5, 0.0]], group=["secretgroup", "b", "b"])


MADE = {"text": _text, "table": _table, "location": _location, "vectors": _vectors}


@pytest.fixture(params=sorted(MODALITIES))
def encoded(request):
    return MADE[request.param]()


def test_it_is_encoded_data(encoded):
    assert isinstance(encoded, Encoded)
    assert encoded.records.points.max() < len(encoded.records.space)
    if encoded.tiers is not None:
        assert len(encoded.tiers.labels) == len(encoded.records.space)


def test_what_is_not_perturbed_comes_back(encoded):
    once = encoded.decode(encoded.records.points)
    twice = encoded.decode(encoded.records.points)
    assert str(once) == str(twice)
    if isinstance(once, tuple):
        assert [text.lower() for text in once] == [text.lower() for text in TEXTS]


def test_what_is_released_depends_on_the_outputs_only(encoded):
    n = len(encoded.records.points)
    everyone_zero = str(encoded.decode(np.zeros(n, dtype=np.int64)))
    everyone_one = str(encoded.decode(np.ones(n, dtype=np.int64)))
    assert everyone_zero != everyone_one


def test_outputs_are_checked(encoded):
    with pytest.raises(InvalidInput, match="expected"):
        encoded.decode([0])
    with pytest.raises(InvalidInput, match="expected integers"):
        encoded.decode(np.full(len(encoded.records.points), 10_000))


def test_it_shows_no_secret(encoded):
    shown = repr(encoded) + repr(encoded.records) + repr(encoded.records.context) + repr(encoded.tiers)
    for secret in ("secret", "777", "888", "39.98", "116"):
        assert secret not in shown


def test_the_context_fits_the_secrets(encoded):
    context = encoded.records.context
    if context is not None:
        assert len(context.slots) == len(encoded.records.points)
        assert len(context.offsets) == len(encoded.records.offsets)
