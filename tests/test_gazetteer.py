"""Lists of names and words: found wherever they occur, in any separation, by their surname, and never shown."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshift.base.errors import InvalidInput
from oddshift.data.detectors.gazetteer import Gazetteer, GazetteerSettings, WordListSettings, surnames_of
from oddshift.data.detectors.kinds import OCCUPATION, OCCUPATIONS, Occupations, OccupationsSettings, plural

NAMES = ("Norma Kamali", "Omaha", "York", "York Minster", "New York", "Ng")


def found(detector, *texts):
    spans = detector.detect(texts)
    rows = zip(spans.document.tolist(), spans.start.tolist(), spans.end.tolist(), strict=True)
    return [texts[document][start:end] for document, start, end in rows]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from([*NAMES, "norma", "said", "new", "minster"]), max_size=8),
    st.sampled_from([" ", ", ", "\n", " - "]),
)
def test_every_listed_name_is_found_and_nothing_else(words, between):
    text = between.join(words)
    matches = [m.lower() for m in found(Gazetteer(NAMES, cover_surnames=False), text)]
    longest = []
    low = [part for word in words for part in word.lower().split()]
    listed = sorted(({tuple(name.lower().split()) for name in NAMES}), key=len, reverse=True)
    at = 0
    while at < len(low):
        match = next((name for name in listed if tuple(low[at : at + len(name)]) == name), None)
        longest += [match] if match else []
        at += len(match or " ")
    assert [tuple(m.replace(",", " ").replace("-", " ").split()) for m in matches] == longest


def test_the_longest_of_several_names_is_found_whatever_their_order_on_the_list():
    for names in (["York", "York Minster"], ["York Minster", "York"]):
        assert found(Gazetteer(names), "York Minster, York") == ["York Minster", "York"]


def test_casing_counts_only_where_it_is_asked_for():
    text = "Reading is fun in reading READING"
    assert found(Gazetteer(["Reading"]), text) == ["Reading", "reading", "READING"]
    assert found(Gazetteer(["Reading"], keep_case=True), text) == ["Reading"]


def test_part_of_a_word_is_not_a_match():
    assert found(Gazetteer(["Ann"]), "Annabel, Joann and Ann-Marie") == ["Ann"]


def test_letters_that_only_look_different_are_the_same():
    assert found(Gazetteer(["Ann Lee"], cover_surnames=False), "ⒶⓃⓃ Lee") == ["ⒶⓃⓃ Lee"]


def test_a_surname_is_covered_alone_where_it_has_a_capital():
    listed = Gazetteer(["Norma Kamali"])
    assert found(listed, "Kamali saw Kamali, kamali and Norma") == ["Kamali", "Kamali"]
    assert found(Gazetteer(["Norma Kamali"], cover_surnames=False), "Kamali") == []


def test_a_surname_that_the_document_writes_in_small_letters_names_nobody_there():
    texts = "Baker came. The baker is a baker.", "Then Baker left."
    assert found(Gazetteer(["Ann Baker"]), *texts) == ["Baker"]


@pytest.mark.parametrize(
    ("entry", "surnames"),
    [
        ("Norma Kamali", ("kamali",)),
        ("Ann Mary Lou van Kamali", ("kamali",)),
        ("Cher", ()),
        ("New Haven", ()),
        ("Bank of Omaha", ()),
        ("Kamali Inc", ()),
        ("Ann Will", ()),
        ("one two three four five six", ()),
    ],
)
def test_which_entries_read_like_a_person(entry, surnames):
    assert tuple(surnames_of([entry])) == surnames


def test_each_surname_is_listed_once():
    assert surnames_of(["Ann Kamali", "Bo Kamali", "Cy Omondi"]) == {"kamali": "Ann Kamali", "omondi": "Cy Omondi"}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Gazetteer("Ann Kamali"), "entries is one string, expected a list of names"),
        (lambda: Gazetteer([]), "the list is empty, expected at least one entry"),
        (lambda: Gazetteer(["Kamali", "!!"]), "an entry of the list holds no word"),
        (lambda: Gazetteer({}), "the list is empty, expected at least one entry"),
    ],
)
def test_a_list_that_finds_nothing_or_too_much_is_refused_without_its_entries(make, message):
    with pytest.raises(InvalidInput, match=message) as refused:
        make()
    assert "Kamali" not in str(refused.value)


def test_lists_show_how_many_entries_they_have_and_none_of_them():
    assert repr(Gazetteer(NAMES, "CLIENT")) == "Gazetteer(6 entries, label=CLIENT)"
    assert repr(Gazetteer({"asthma": "HEALTH"})) == "Gazetteer(1 entries, label=HEALTH)"


def test_settings_read_their_list_from_a_file(tmp_path):
    path = tmp_path / "names.txt"
    path.write_text("  Norma Kamali \n\n  Omaha\n", encoding="utf-8")
    listed = GazetteerSettings(path=path, label="CLIENT", keep_case=True).detector()
    assert (listed.entries, listed.label, listed.keep_case) == (["Norma Kamali", "Omaha"], "CLIENT", True)
    path.write_text("asthma\ngout\n", encoding="utf-8")
    assert WordListSettings(path=path, label="HEALTH").detector().labels == {"asthma": "HEALTH", "gout": "HEALTH"}


@pytest.mark.parametrize("data", [None, b"caf\xe9"])
@pytest.mark.parametrize("settings_class", [GazetteerSettings, WordListSettings])
def test_a_list_that_cannot_be_read_is_refused_in_one_line(tmp_path, data, settings_class):
    path = tmp_path / "names.txt"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(InvalidInput, match="cannot be read, expected a UTF-8 text file with a name on each line"):
        settings_class(path=path).detector()


@pytest.mark.parametrize(
    ("noun", "several"),
    [
        ("nurse", "nurses"),
        ("secretary", "secretaries"),
        ("attorney", "attorneys"),
        ("actress", "actresses"),
        ("coach", "coaches"),
        ("fisherman", "fishermen"),
        ("midwife", "midwives"),
        ("police officer", "police officers"),
    ],
)
def test_plurals_of_occupations(noun, several):
    assert plural(noun) == several


def test_every_occupation_is_found_alone_and_in_the_plural():
    detector = OccupationsSettings().detector()
    assert found(detector, *OCCUPATIONS) == list(OCCUPATIONS)
    assert found(detector, *map(plural, OCCUPATIONS)) == [plural(noun) for noun in OCCUPATIONS]
    assert Occupations().detect(["nurse"]).labels == (OCCUPATION,)


def test_a_word_list_gives_every_word_its_label():
    spans = Gazetteer({"Asthma": "HEALTH", "prison": "LAW"}).detect(["asthma in PRISON", "asthmatic"])
    assert [spans.labels[k] for k in spans.label] == ["HEALTH", "LAW"]
    assert spans.is_exact
