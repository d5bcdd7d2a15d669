"""Nouns that fit the data, in lines and in pages."""

import pytest

from oddshift.app.terminology import NOUNS, Speaking, reword_for, reword_html, who_found


@pytest.mark.parametrize(
    ("detector", "expected"),
    [
        (who_found("table", ("age", "city")), "Rows and a row: 3 values; columns that are not secret are released"),
        (who_found("table", ("age",), "id"), "Groups of rows and a group of rows: 3 values; columns that"),
        (who_found("location", ()), "Trips and a trip: 3 places; times are released as they are, users"),
        (who_found("vectors", ()), "Groups and a group: 3 vectors; everything but the vectors is released"),
        ("patterns, capitals", "Documents and a document: 3 words; names it misses are released in the clear"),
        ("none (every position was given)", "Documents and a document: 3 words; names it misses are released"),
    ],
)
def test_every_kind_has_its_nouns(detector, expected):
    said = reword_for(detector)("Documents and a document: 3 words; names it misses are released in the clear")
    assert said.startswith(expected)


def test_all_sentences_about_misses_are_put_right():
    reword = reword_for(who_found("table", ("age",)))
    for said in ("names it misses are", "what the detector misses is", "what they miss is"):
        assert reword(f"x; {said} released in the clear.") == f"x; {NOUNS['table'].else_}."


def test_a_word_is_replaced_only_as_a_word():
    reword = reword_for(who_found("table", ("age",)))
    assert reword("documented passwords of a documentary") == "documented passwords of a documentary"


def test_pages_keep_their_tags_scripts_and_styles():
    page = '<p id="document">A document<script>document.x = "word"</script><style>.word{}</style> of words</p>'
    reword = reword_for(who_found("table", ("age",)))
    assert reword_html(page, reword) == (
        '<p id="document">A row<script>document.x = "word"</script><style>.word{}</style> of values</p>'
    )


def test_a_speaking_console_passes_tables_and_options_on():
    said = []

    class Console:
        def print(self, what, **options):
            said.append((what, options))

    table = object()
    speaking = Speaking(Console(), reword_for(who_found("table", ("age",))))
    speaking.print("one document", style="bold")
    speaking.print(table)
    assert said == [("one row", {"style": "bold"}), (table, {})]


def test_columns_that_are_named_like_the_nouns_keep_their_names():
    reword = reword_for(who_found("table", ("words", "document type")))
    assert reword("2 documents: words, document type, each word") == "2 rows: words, document type, each value"
