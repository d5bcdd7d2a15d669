import numpy as np
import pytest

from oddshift import InvalidInput, Tiers


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
