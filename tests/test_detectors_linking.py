"""Linked names: found once in full, found again by a part; common words never link."""

from hypothesis import given, settings
from hypothesis import strategies as st

from oddshift.data.detectors import KnownNames, Spans, known_names, linked, ordinary_words
from oddshift.data.detectors.names import may_link, parts_of


def spans_of(texts, *names, label="PERSON"):
    """The first occurrence of each name in the first text that holds it."""
    rows = []
    for name in names:
        document = next(d for d, text in enumerate(texts) if name in text)
        start = texts[document].index(name)
        rows.append((document, start, start + len(name), label))
    return Spans.of(sorted(rows), is_exact=False)


def shown(texts, spans):
    rows = zip(spans.document, spans.start, spans.end, spans.label, strict=True)
    return [(int(d), texts[d][a:b], spans.labels[k]) for d, a, b, k in rows]


def test_a_later_surname_is_the_same_person():
    texts = ["Norma Kamali came. Later Kamali's friends called her Norma.", "A Kamali elsewhere."]
    found = linked(texts, spans_of(texts, "Norma Kamali"))
    assert shown(texts, found) == [
        (0, "Norma Kamali", "PERSON"),
        (0, "Kamali", "PERSON"),
        (0, "Norma", "PERSON"),
    ]


def test_a_whole_name_of_the_fit_documents_links_everywhere():
    fit = ["Norma Kamali came.", "Then Bob left."]
    known = known_names(fit, spans_of(fit, "Norma Kamali", "Bob"))
    assert known.surnames == {"kamali": "PERSON"}  # a single word links inside its own document only
    later = ["Mr. Kamali and Norma and Bob."]
    assert shown(later, linked(later, Spans.of([], is_exact=False), known)) == [(0, "Kamali", "PERSON")]


def test_common_words_do_not_link():
    texts = ["Ann Brown met Al Li and Joe Will on a brown bench in brown shoes.", "Brown, Li, Will, brown."]
    spans = spans_of(texts, "Ann Brown", "Al Li", "Joe Will")
    known = known_names(texts, spans)
    assert known.surnames == {}
    assert "brown" in ordinary_words(texts)
    assert len(linked(texts, spans, known)) == 3
    assert not may_link("Monday", frozenset())
    assert not may_link("kamali", frozenset())
    assert not any(may_link(word, frozenset()) for word in ("I'm", "They’ll", "Don't"))
    assert may_link("Kamali", frozenset())
    assert may_link("O'Brien", frozenset())


def test_a_rare_lower_case_use_still_links():
    texts = ["Ann Brown met Brown, and Brown wore brown."]
    known = known_names(texts, spans_of(texts, "Ann Brown"))
    assert len(linked(texts, spans_of(texts, "Ann Brown"), known)) == 3


def test_only_people_link_unless_asked():
    texts = ["Acme Widgets grew. Widgets sold."]
    spans = spans_of(texts, "Acme Widgets", label="ORG")
    assert len(linked(texts, spans)) == 1
    assert shown(texts, linked(texts, spans, labels=("ORG",)))[-1] == (0, "Widgets", "ORG")


def test_what_is_found_already_is_not_found_twice():
    texts = ["Norma Kamali of Kamali Inc saw Kamali."]
    both = Spans.of([(0, 0, 12, "PERSON"), (0, 16, 26, "ORG")], is_exact=False)
    assert shown(texts, linked(texts, both)) == [
        (0, "Norma Kamali", "PERSON"),
        (0, "Kamali Inc", "ORG"),
        (0, "Kamali", "PERSON"),
    ]


def test_letters_in_disguise_link_too():
    texts = ["Norma Kamali. Ⓚⓐⓜⓐⓛⓘ!"]
    assert shown(texts, linked(texts, spans_of(texts, "Norma Kamali")))[-1] == (0, "Ⓚⓐⓜⓐⓛⓘ", "PERSON")


def test_titles_and_suffixes_are_no_parts():
    assert parts_of("Dr. Norma J. Kamali Jr.") == ["Norma", "Kamali"]
    assert parts_of("O’Brien's") == ["O’Brien"]


def test_known_names_show_no_name():
    assert repr(KnownNames({"kamali": "PERSON"}, frozenset(["brown"]))) == "KnownNames(1 surnames, 1 ordinary words)"


@settings(deadline=None, max_examples=100)
@given(st.text(alphabet="Kam li's.Ⓚ\u200b-", max_size=40))
def test_links_lie_apart_inside_the_text(text):
    texts = [f"Kamali Amalik. {text}"]
    found = linked(texts, Spans.of([(0, 0, 13, "PERSON")], is_exact=False))
    assert (found.start[1:] >= found.end[:-1]).all()
    assert int(found.end.max()) <= len(texts[0])
