import numpy as np
import pytest

from oddshift.base.errors import InvalidInput
from oddshift.mechanisms import Exponential
from oddshift.model.records import Records
from oddshift.model.release import candidates, one_tier, perturb
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers

SPACE = Space(np.arange(4.0)[:, None])
SECRETS = Records.from_documents(SPACE, [[0, 1, 2], [3], [2, 2]])


def test_a_release_keeps_the_shape_of_the_records_and_none_of_their_values():
    release = perturb(SECRETS, Exponential(SPACE, 1.0), one_tier(SPACE), np.random.default_rng(0))
    assert len(release) == 3
    assert release.lengths.tolist() == [3, 1, 2]
    assert repr(release) == "Release(3 documents, 6 positions, sensitive positions only)"
    assert not hasattr(release, "points")


def test_tiers_are_shown_only_when_they_are_public():
    for is_public, shown in ((True, [0, 0, 1, 1, 1, 1]), (False, None)):
        tiers = Tiers([0, 0, 1, 1], names=("a", "b"), scales=(1.0, 1.0), is_public=is_public)
        release = perturb(SECRETS, Exponential(SPACE, 1.0), tiers, np.random.default_rng(0))
        assert (None if release.position_tiers is None else release.position_tiers.tolist()) == shown


def test_candidates_are_the_tier_when_public_and_all_sensitive_points_when_secret():
    labels = [0, 1, 1, -1]
    public = Tiers(labels, names=("a", "b"), scales=(1.0, 1.0), is_public=True)
    secret = Tiers(labels, names=("a", "b"), scales=(1.0, 1.0), is_public=False)
    assert candidates(public, 1).tolist() == [False, True, True, False]
    assert candidates(secret, 1).tolist() == [True, True, True, False]


def test_each_position_has_noise_of_its_own():
    many = Records.from_documents(SPACE, [[1] * 2000])
    outputs = perturb(many, Exponential(SPACE, 1.0), one_tier(SPACE), np.random.default_rng(0)).outputs
    frequency = np.bincount(outputs, minlength=4) / 2000
    assert np.abs(frequency - np.exp(Exponential(SPACE, 1.0).log_matrix[1])).max() < 0.05


def test_documents_can_be_taken_and_repeat_under_a_seed():
    em, tiers = Exponential(SPACE, 1.0), one_tier(SPACE)
    release = perturb(SECRETS, em, tiers, np.random.default_rng(5))
    again = perturb(SECRETS, em, tiers, np.random.default_rng(5))
    assert (release.outputs == again.outputs).all()
    some = release.take(np.array([2, 0]))
    assert some.outputs.tolist() == [*release.outputs[4:], *release.outputs[:3]]


def test_records_of_another_space_and_untiered_secrets_are_refused():
    with pytest.raises(InvalidInput, match=r"records over 4 points, expected 2"):
        perturb(SECRETS, Exponential(Space([[0.0], [1.0]]), 1.0), one_tier(SPACE), np.random.default_rng(0))
    tiers = Tiers([0, 0, 0, -1], names=("a",), scales=(1.0,), is_public=True)
    with pytest.raises(InvalidInput, match="1 positions hold a point of no tier"):
        perturb(SECRETS, Exponential(SPACE, 1.0), tiers, np.random.default_rng(0))
