"""Preparation: what is independent of what, and what a split may separate."""

import numpy as np

import oddshift as od
from oddshift.data.preparation import prepare, prepare_records
from oddshift.model.tiers import Tiers

SETTINGS = {"tokeniser": "plain", "count": 1, "similar_percent": 0.0}


def corpus(documents, copies, seed=0):
    rng = np.random.default_rng(seed)
    names = [f"Name{letter}" for letter in "abcdefgh"]
    words = [f"word{k}" for k in range(60)]
    texts = [
        f"today {rng.choice(names)} met {rng.choice(names)} near " + " ".join(rng.choice(words, 12))
        for _ in range(documents)
    ]
    return texts * copies


def prepared(texts, users=None):
    return prepare(od.texts(texts, "from-text", ["capitals"], users, settings=SETTINGS), seed=0)


def test_copies_of_a_text_are_one_independent_unit():
    found = prepared(corpus(60, 10))
    parts = (found.split.fit, found.split.select, found.split.certify)
    assert sum(len(part) for part in parts) == 600
    assert sum(len(np.unique(part.clusters)) for part in parts) == 60
    assert any("540 of 600 documents nearly repeat another: 60 independent units" in note for note in found.notes)


def test_copies_never_stand_in_two_parts():
    found = prepared(corpus(30, 4))
    kept = [set(part.clusters.tolist()) for part in (found.split.fit, found.split.select, found.split.certify)]
    assert len(set.union(*kept)) == sum(len(units) for units in kept)


def test_a_certificate_counts_units_and_not_copies():
    data = od.texts(corpus(60, 10), "from-text", ["capitals"], settings=SETTINGS)
    audit = od.audit(data, epsilon=1.0, delta=0.5)
    assert max(certificate.documents for certificate in audit.certificates) <= 12


def test_texts_that_differ_are_units_of_their_own():
    found = prepared(corpus(60, 1))
    assert not any("nearly repeat" in note for note in found.notes)
    assert sum(len(part) for part in (found.split.fit, found.split.select, found.split.certify)) == 60


def test_users_decide_where_they_are_known():
    texts = corpus(60, 1)
    found = prepared(texts, users=[k // 6 for k in range(60)])
    assert found.split.by == "user"
    assert sum(len(np.unique(p.clusters)) for p in (found.split.fit, found.split.select, found.split.certify)) == 10


def test_records_by_hand_bring_their_tiers_or_have_one():
    secrets = od.Records.from_documents(od.Space([[0.0], [1.0]]), [[0, 1]] * 9)
    assert prepare_records(secrets, None, 0).tiers.names == ("all",)
    two = Tiers([0, 1], names=("a", "b"), scales=(1.0, 1.0), is_public=False)
    assert prepare_records(secrets, two, 0).tiers is two
    assert repr(prepare_records(secrets, two, 0)).startswith("Prepared(records, 5, 2, 2 to learn from")
