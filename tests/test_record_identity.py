"""How records are known: by id, by content or row by row, whatever the size of blocks and wherever keys are noted."""

from dataclasses import dataclass

import pytest

from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import PlaceSettings, TableSettings, TextSettings, VectorSettings
from oddshift.data.formats import data_file, open_data
from oddshift.protect import record_identity as module
from oddshift.protect.record_identity import KnownBy, known_by, survey
from oddshift.protect.record_keys import WIDTH, RecordKeys

KEYS = RecordKeys(b"s" * 32)


@dataclass(frozen=True)
class Asked:
    """What `known_by` reads of a policy: the settings of its data."""

    settings: object

    @property
    def kind(self):
        return self.settings.kind


TEXTS = Asked(TextSettings(is_public=True))
ROWS = Asked(TableSettings(numeric=("age",)))


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "in.csv"
    path.write_text("id,text,who\n" + "".join(f"{k},text {k % 3},u{k % 2}\n" for k in range(7)))
    return open_data(path)


def keys_of(found):
    return b"".join(batch.keys for batch in found.batches())


def users_of(found):
    return b"".join(batch.users for batch in found.batches())


@pytest.mark.parametrize(
    ("policy", "identity", "expected"),
    [
        (TEXTS, "", ("content", ("text",), True)),
        (TEXTS, "id", ("id", ("id",), True)),
        (ROWS, "", ("row", ("text",), False)),
        (ROWS, "id", ("id", ("id",), True)),
        (Asked(VectorSettings()), "", ("row", ("text",), False)),
        (
            Asked(PlaceSettings(user="", timestamp="", trip="", every=0)),
            "",
            ("row", ("text",), False),
        ),
    ],
    ids=["texts", "texts by id", "rows", "rows by id", "vectors", "points alone"],
)
def test_an_id_wins_and_texts_are_known_by_content(policy, identity, expected):
    found = known_by(policy, ("text",), identity=identity)
    assert (found.how, found.columns, found.is_named) == expected


def test_fixes_are_known_by_everything_that_is_read_of_them():
    asked = PlaceSettings()
    found = known_by(Asked(asked), ("lat", "lon"))
    assert found.how == "content"
    assert found.columns == asked.wanted(())


def test_records_of_equal_content_have_equal_keys_and_ids_are_all_different(file):
    by_content = keys_of(survey(file, KnownBy("content", ("text",)), KEYS, None, allow_new_keys=False))
    by_id = keys_of(survey(file, KnownBy("id", ("id",)), KEYS, None, allow_new_keys=False))
    assert len(by_content) == len(by_id) == 7 * WIDTH
    assert len({by_content[k : k + WIDTH] for k in range(0, len(by_content), WIDTH)}) == 3
    assert len({by_id[k : k + WIDTH] for k in range(0, len(by_id), WIDTH)}) == 7


def test_rows_and_contents_have_different_keys(file):
    row, content = (
        keys_of(survey(file, KnownBy(how, ("text",)), KEYS, None, allow_new_keys=False)) for how in ("row", "content")
    )
    assert row[:WIDTH] != content[:WIDTH]


@pytest.mark.parametrize("block", [1, 20, 1 << 20])
@pytest.mark.parametrize("at_once", [2, 1 << 18])
@pytest.mark.parametrize("user", ["", "who"])
def test_keys_do_not_depend_on_blocks_nor_on_where_they_are_noted(file, tmp_path, monkeypatch, block, at_once, user):
    known = KnownBy("id", ("id",), user)
    expected = survey(file, known, KEYS, None, allow_new_keys=False)
    monkeypatch.setattr(data_file, "BLOCK", block)
    monkeypatch.setattr(module, "AT_ONCE", at_once)
    found = survey(open_data(file.path), known, KEYS, tmp_path / "keys", allow_new_keys=False)
    assert keys_of(found) == keys_of(expected)
    assert users_of(found) == users_of(expected)
    assert len(users_of(found)) == (7 * WIDTH if user else 0)
    assert found.mark == expected.mark
    assert found.key(3) == keys_of(expected)[2 * WIDTH : 3 * WIDTH]
    assert {path.stat().st_mode & 0o077 for path in tmp_path.glob("keys*")} == {0}


def test_the_name_of_an_input_depends_on_its_records_their_order_and_the_secret(tmp_path):
    def mark(text, secret=b"s" * 32):
        (tmp_path / "in.csv").write_text("text\n" + text)
        file = open_data(tmp_path / "in.csv")
        return survey(file, KnownBy("content", ("text",)), RecordKeys(secret), None, allow_new_keys=False).mark

    assert mark("a\nb\n") == mark("a\r\nB\n")
    assert len({mark("a\nb\n"), mark("b\na\n"), mark("a\n"), mark("a\nb\n", b"t" * 32)}) == 4


def test_an_empty_id_or_user_is_named_by_its_row_in_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(data_file, "BLOCK", 8)
    path = tmp_path / "in.csv"
    path.write_text("id,who\n1,a\n2,b\n,c\n4,\n")
    with pytest.raises(InvalidInput, match="column 'id' at row 3 is empty, expected a name or number"):
        survey(open_data(path), KnownBy("id", ("id",)), KEYS, None, allow_new_keys=False)
    with pytest.raises(InvalidInput, match="column 'who' at row 4 is empty"):
        survey(open_data(path), KnownBy("content", ("who",), "who"), KEYS, None, allow_new_keys=False)


def test_a_key_that_the_first_object_lacks_is_refused_unless_it_is_allowed(tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_text('{"text": "a"}\n{"text": "b", "Annabel": 1}\n{"text": "c", "Annabel": 2, "x": 3}\n')
    known = KnownBy("content", ("text",))
    with pytest.raises(InvalidInput, match="line 2 has a key that the first line lacks") as refused:
        survey(open_data(path), known, KEYS, None, allow_new_keys=False)
    assert "Annabel" not in str(refused.value)
    assert survey(open_data(path), known, KEYS, None, allow_new_keys=True).new_keys == ("Annabel", "x")


def test_a_survey_shows_no_key(file):
    found = survey(file, KnownBy("id", ("id",)), KEYS, None, allow_new_keys=False)
    assert keys_of(found).hex()[:8] not in repr(found)
    assert "s" * 32 not in repr(KEYS)
