"""What is asked of texts: every setting that cannot be meant is refused where it is made, with what was expected."""

import pytest

from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import TextSettings
from oddshift.data.codecs.text.settings import PAPER_TIERS
from oddshift.data.detectors import DETECTORS


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"text": ()}, r"text=\(\), expected at least one column, each named once"),
        ({"text": ("a", "a")}, "expected at least one column, each named once"),
        ({"detectors": ("PERSON",)}, "detectors has a str, expected settings of a detector"),
        ({"tier_names": ("A", "A")}, r"tier_names=\('A', 'A'\), expected distinct names"),
        ({"tier_of": {"PERSON": "A"}}, "tier_of names 'A', expected one of names in tier_names"),
        ({"tier_names": ("A", "B"), "tier_of": {"X": "C"}}, "tier_of names 'C', expected one of A, B"),
        ({"fewest": 0}, "fewest=0, expected a whole number >= 1"),
        ({"trials": -1}, "trials=-1, expected a whole number >= 0"),
        ({"similar_percent": 100.0}, "similar_percent=100.0, expected at least 0 and below 100"),
        ({"similar_percent": -1.0}, "similar_percent=-1.0, expected at least 0 and below 100"),
        ({"similar_percent": float("nan")}, "similar_percent=nan, expected at least 0 and below 100"),
        ({"unknown": "keep"}, "unknown='keep', expected one of mark, refuse"),
        ({"marks": "none"}, "marks='none', expected one of kind, substitute"),
        ({"repeats": "twice"}, "repeats='twice', expected one of each, once"),
        ({"tokeniser": "words"}, "tokeniser='words', expected one of plain, spacy"),
        ({"metric": "cosine"}, "metric='cosine', expected one of angular, euclidean, hamming, haversine, manhattan"),
        ({"joint_by": "column"}, "joint_by='column', expected one of document, sentence, user"),
        ({"casing": ("shouted",)}, r"casing=\('shouted',\), expected some of written, lower, upper, title, sentence"),
    ],
)
def test_what_cannot_be_meant_is_refused(changes, message):
    with pytest.raises(InvalidInput, match=message) as refused:
        TextSettings(is_public=True, **changes)
    assert "\n" not in str(refused.value)


def test_whether_tiers_are_public_has_no_default():
    with pytest.raises(TypeError, match="is_public"):
        TextSettings()


def test_the_defaults_protect_a_secret_once_and_mark_what_is_unknown():
    made = TextSettings(is_public=False)
    assert (made.repeats, made.unknown, made.joint_by, made.kind) == ("once", "mark", "document", "text")


def test_the_settings_of_the_paper_are_settings():
    made = TextSettings(is_public=True, **PAPER_TIERS)
    assert (made.tier_names, made.similar_percent, made.repeats) == (("PII",), 10.0, "each")


def test_settings_of_every_detector_without_a_file_are_accepted():
    kinds = [made for name, made in DETECTORS.items() if name in {"patterns", "handles", "occupations"}]
    assert len(kinds) == 3
    assert len(TextSettings(is_public=True, detectors=tuple(kind() for kind in kinds)).detectors) == 3


def test_the_columns_that_are_read_are_named_once_and_in_order():
    made = TextSettings(is_public=True, text=("title", "body"), label="class", user="title", subgroup=None)
    assert made.wanted(("anything",)) == ("title", "body", "class")


def test_texts_of_one_user_are_one_unit():
    columns = {"text": ["a", "b", "c", "d"], "who": ["ann", "bob", "ann", 7]}
    units, name = TextSettings(is_public=True, user="who").units(columns)
    assert (units.tolist(), name) == ([0, 1, 0, 2], "user")


def test_without_users_every_text_is_a_unit():
    units, name = TextSettings(is_public=True).units({"text": ["a", "a", "b"]})
    assert (units.tolist(), name) == ([0, 1, 2], "document")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"body": ["a"]}, "the data has no column 'text' among its 1"),
        ({"text": ["a", "b"], "who": ["x"]}, r"columns of the data have lengths \[1, 2\], expected one length above 0"),
        ({"text": [], "who": []}, r"columns of the data have lengths \[0\], expected one length above 0"),
        ({"text": ["a", "b"], "who": ["x", None]}, "column 'who' at row 2 is missing, expected text"),
    ],
)
def test_columns_that_cannot_be_counted_are_refused(columns, message):
    with pytest.raises(InvalidInput, match=message):
        TextSettings(is_public=True, user="who" if "who" in columns else None).units(columns)


@pytest.mark.parametrize(("user", "renamed"), [("who", ("who",)), ("text", ()), (None, ())])
def test_who_wrote_a_text_is_released_under_another_name(user, renamed):
    assert TextSettings(is_public=True, user=user).renamed == renamed
