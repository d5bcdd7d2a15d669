"""Blocks of a release: whole documents, every position once, and none without a position."""

import numpy as np
import pytest

from oddshift.attackers.attacker import document_blocks, release_blocks
from oddshift.base.errors import InvalidInput
from oddshift.mechanisms import Exponential
from oddshift.model.records import SLOT, Context, Records
from oddshift.model.release import candidates, one_tier, perturb, perturb_with
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers
from worlds import ring

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


def test_the_same_uniforms_give_the_same_release_and_each_position_its_own():
    em, tiers = Exponential(SPACE, 1.0), one_tier(SPACE)
    z = np.array([0.01, 0.5, 0.99, 0.25, 0.0, 1 - 2.0**-53])
    release = perturb_with(SECRETS, em, tiers, z)
    assert release.outputs.tolist() == em.invert(SECRETS.points, z).tolist()
    with pytest.raises(InvalidInput, match="z has 5 uniforms, expected 6"):
        perturb_with(SECRETS, em, tiers, z[:5])


def test_perturb_draws_one_uniform_for_each_position_in_order():
    em, tiers = Exponential(SPACE, 1.0), one_tier(SPACE)
    drawn = perturb(SECRETS, em, tiers, np.random.default_rng(9))
    given = perturb_with(SECRETS, em, tiers, np.random.default_rng(9).random(6))
    assert drawn.outputs.tolist() == given.outputs.tolist()


def with_context():
    context = Context(
        tokens=np.array([0, SLOT, SLOT, SLOT, SLOT, 0, SLOT, SLOT]),
        offsets=np.array([0, 4, 5, 8]),
        symbols=("the",),
        breaks=np.zeros(8, dtype=bool),
    )
    return Records.from_documents(SPACE, [[0, 1, 2], [3], [2, 2]], context=context)


def test_the_public_context_is_carried_taken_and_left_out():
    release = perturb(with_context(), Exponential(SPACE, 1.0), one_tier(SPACE), np.random.default_rng(0))
    assert repr(release) == "Release(3 documents, 6 positions, with context W)"
    some = release.take(np.array([2]))
    assert some.context.tokens.tolist() == [0, SLOT, SLOT]
    assert some.position_tiers.tolist() == [0, 0]
    bare = release.without_context()
    assert bare.context is None
    assert bare.outputs is release.outputs
    assert repr(bare).endswith("sensitive positions only)")


def test_taking_documents_of_a_secret_tier_release_keeps_the_tier_secret():
    tiers = Tiers([0, 0, 1, 1], names=("a", "b"), scales=(1.0, 1.0), is_public=False)
    release = perturb(SECRETS, Exponential(SPACE, 1.0), tiers, np.random.default_rng(0))
    assert release.take(np.array([0])).position_tiers is None


def test_documents_without_a_secret_are_released_as_empty():
    empty = Records.from_documents(SPACE, [[], [1], []])
    release = perturb(empty, Exponential(SPACE, 1.0), one_tier(SPACE), np.random.default_rng(0))
    assert release.lengths.tolist() == [0, 1, 0]
    assert len(release.take(np.array([0, 2])).outputs) == 0


@pytest.mark.parametrize("entries", [1, 30, 100, 10**6])
def test_blocks_are_whole_documents_and_cover_every_position_once(entries):
    release = ring(documents=80, length=0).release
    ranges = list(document_blocks(release, 10, entries))
    assert [k for documents in ranges for k in documents] == list(range(len(release)))
    for documents in ranges:
        positions = int(release.offsets[documents.stop] - release.offsets[documents.start])
        assert len(documents) == 1 or positions <= max(1, entries // 10)
    found = list(release_blocks(release, 10, entries))
    assert all(len(block.outputs) for _, block in found)
    covered = [first + k for first, block in found for k in range(len(block.outputs))]
    assert covered == list(range(len(release.outputs)))
    for first, block in found:
        np.testing.assert_array_equal(block.outputs, release.outputs[first : first + len(block.outputs)])
