import numpy as np
import pytest

from oddshift import InvalidInput, Tiers
from oddshift.model.tiers import tiers_of


def tiers(labels=(0, 1, -1, 1), scales=(0.4, 0.9), names=("PII", "PoII"), is_public=True):
    return Tiers(list(labels), names=names, scales=scales, is_public=is_public)


def test_points_in_no_tier_take_the_largest_scale():
    assert tiers().scale_of_points.tolist() == [0.4, 0.9, 0.9, 0.9]
    assert tiers().sensitive.tolist() == [True, True, False, True]
    assert len(tiers()) == 2


def test_comparable_pairs():
    left, right = np.array([0, 1]), np.array([0, 1, 3])
    assert tiers().comparable(left, right).tolist() == [[True, False, False], [False, True, True]]
    assert tiers(is_public=False).comparable(left, right).all()


def test_with_scales_changes_nothing_else():
    other = tiers().with_scales((1.0, 2.0))
    assert (other.scales, other.names, other.is_public) == ((1.0, 2.0), ("PII", "PoII"), True)
    assert (other.labels == tiers().labels).all()


def test_repr_says_sizes_and_never_who():
    assert repr(tiers()) == "Tiers(PII: 1 x0.4, PoII: 2 x0.9; public)"
    assert repr(tiers(is_public=False)).endswith("secret)")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": ()}, "expected 1 axis of integers"),
        ({"labels": (0.0, 1.0)}, "dtype float64, expected 1 axis of integers"),
        ({"labels": (0, 2)}, r"labels span \[0, 2\], expected \[-1, 2\)"),
        ({"labels": (-2, 0)}, r"labels span \[-2, 0\], expected \[-1, 2\)"),
        ({"scales": (0.4,)}, "2 names and 1 scales, expected as many"),
        ({"labels": ((0,), (1, 1))}, "labels is ragged"),
        ({"scales": None}, "scales is a NoneType, expected a sequence"),
        ({"scales": ("0.4", "1")}, "a scale='0.4', expected a number"),
        ({"names": ("a", "a")}, "names distinct"),
        ({"scales": (0.0, 1.0)}, "expected finite numbers > 0"),
        ({"scales": (np.nan, 1.0)}, "expected finite numbers > 0"),
        ({"scales": (0.4, np.inf)}, "expected finite numbers > 0"),
        ({"scales": (0.9, 0.4)}, r"scales=\(0.9, 0.4\), expected no decrease"),
        ({"is_public": None}, "is_public=None, expected True or False"),
    ],
)
def test_refusals(changes, message):
    with pytest.raises(InvalidInput, match=message) as caught:
        tiers(**changes)
    assert "\n" not in str(caught.value)


def test_whether_tiers_are_public_must_be_said():
    with pytest.raises(TypeError, match="is_public"):
        Tiers([0], names=("PII",), scales=(1.0,))


def test_labels_are_a_copy_that_cannot_change():
    mine = np.array([0, 1, -1])
    made = tiers(labels=mine)
    mine[0] = 1
    assert made.labels.tolist() == [0, 1, -1]
    for array in (made.labels, made.scale_of_points):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_points_of_no_tier_take_the_largest_scale_even_when_scales_are_unordered():
    swapped = tiers().with_scales((0.9, 0.4), ordered=False)
    assert swapped.scale_of_points.tolist() == [0.9, 0.4, 0.9, 0.4]


def test_equal_scales_are_in_order_and_unordered_ones_must_be_asked_for():
    assert tiers(scales=(0.5, 0.5)).scales == (0.5, 0.5)
    with pytest.raises(InvalidInput, match="expected no decrease"):
        tiers().with_scales((0.9, 0.4))
    assert tiers().with_scales((0.9, 0.4), ordered=False).scales == (0.9, 0.4)


def test_a_tier_may_be_empty_and_every_point_may_be_in_none():
    assert repr(tiers(labels=(1, 1))) == "Tiers(PII: 0 x0.4, PoII: 2 x0.9; public)"
    nobody = tiers(labels=(-1, -1))
    assert not nobody.sensitive.any()
    assert nobody.scale_of_points.tolist() == [0.9, 0.9]


def test_points_of_no_tier_are_comparable_with_each_other_only_when_tiers_are_public():
    index = np.arange(4)
    assert tiers(labels=(0, 1, -1, -1)).comparable(index, index).tolist() == [
        [True, False, False, False],
        [False, True, False, False],
        [False, False, True, True],
        [False, False, True, True],
    ]


def test_what_is_not_tiers_is_refused_by_its_type():
    made = tiers()
    assert tiers_of(made) is made
    with pytest.raises(InvalidInput, match="tiers is a dict, expected Tiers"):
        tiers_of({"labels": [0]})


def test_tiers_of_one_level_share_a_scale():
    kinds = Tiers([0, 1, 2], names=("PERSON", "ORG", "OTHER"), scales=(0.4, 0.4, 1.0), is_public=True, levels=(0, 0, 1))
    assert kinds.n_levels == 2
    assert kinds.scales_of_levels((0.2, 0.9)) == (0.2, 0.2, 0.9)
    moved = kinds.with_scales(kinds.scales_of_levels((0.2, 0.9)))
    assert moved.levels == (0, 0, 1)
    with pytest.raises(InvalidInput, match="differ within a level"):
        kinds.with_scales((0.2, 0.3, 0.9))
    with pytest.raises(InvalidInput, match="3 scales, expected 2"):
        kinds.scales_of_levels((0.2, 0.3, 0.9))


def test_every_tier_is_a_level_of_its_own_by_default():
    plain = Tiers([0, 1], names=("a", "b"), scales=(0.5, 1.0), is_public=True)
    assert plain.levels == (0, 1)
    assert plain.scales_of_levels((0.1, 0.2)) == (0.1, 0.2)


@pytest.mark.parametrize("levels", [(1, 1), (0, 2), (0,), (1, 0), (0, 0, 0)])
def test_levels_rise_from_the_most_sensitive_tier(levels):
    with pytest.raises(InvalidInput, match="levels="):
        Tiers([0, 1], names=("a", "b"), scales=(0.5, 0.5), is_public=True, levels=levels)
