"""What a record is known by: equal under every format, different for different records, and not to be guessed."""

import hashlib
import hmac
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oddshift.base.errors import InvalidInput
from oddshift.protect.record_keys import WIDTH, RecordKeys, normal_name, normal_text

KEYS = RecordKeys(b"k" * 32)
HIDDEN = (
    0x200B,
    0x200D,
    0xAD,
    0xFEFF,
    0xFE0F,
    0x200F,
    0,
    7,
    0x34F,
    0x115F,
    0x3164,
    0xFFA0,
    0x17B4,
    0xE0001,
    0xFFFC,
    0xFFFF,
    0x1D159,
)


def split(keys):
    return [keys[i : i + WIDTH] for i in range(0, len(keys), WIDTH)]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (7, "7"),
        (7.0, " 7 "),
        ("7.5", 7.5),
        (np.int64(7), np.float32(7)),
        *((f"a{chr(code)}b", "ab") for code in HIDDEN),
        (True, "True"),
        ("ﬁ", "fi"),
        ("e\u0301", "é"),
        ("a\t b", "a b"),
        (12345678901234567890, "12345678901234567890"),
    ],
)
def test_one_id_in_two_formats(left, right):
    assert normal_name(left) == normal_name(right)
    assert KEYS.ids([left], "id") == KEYS.ids([right], "id")


@pytest.mark.parametrize(
    ("left", "right"),
    [
        *[("a", "A"), ("7", "70"), (12345678901234567890, 12345678901234567891), ("1 2", "12"), (7, 7.5)],
        *itertools.combinations(["123e4567", "9e999999", "inf", "12e3", "12000", "1_0", "10", "010", "a-b", "ab"], 2),
    ],
)
def test_two_ids(left, right):
    assert KEYS.ids([left], "id") != KEYS.ids([right], "id")


def test_texts_are_known_without_case_and_spaces():
    keys = split(
        KEYS.contents(
            [
                [
                    "Ann met Bob.",
                    "ann  MET\nbob. ",
                    "«Ann», met: Bob",
                    "$Ann_met-<Bob>^",
                    "A nn\u2800metBob",
                    "Ann met Rob",
                ]
            ]
        )
    )
    assert len(set(keys[:-1])) == 1
    assert keys[0] != keys[-1]


@pytest.mark.parametrize("code", HIDDEN)
def test_a_character_that_no_reader_sees_makes_no_new_text(code):
    assert KEYS.contents([["Ann met Bob"]]) == KEYS.contents([[f"A{chr(code)}nn {chr(code)} met Bob{chr(code)}"]])


def test_cells_that_are_numbers_count_by_value_and_others_do_not():
    assert len({normal_text(cell) for cell in (7, 7.0, "7.00", "007", "+7", "7e0")}) == 1
    different = ["123e4567", "9e999999", "-7", "7", "7.5", "75", "2020-11-1", "2020-1-11", "...", ""]
    assert len({normal_text(cell) for cell in different}) == len(different)


@pytest.mark.parametrize(
    "again",
    ["Ann met Rob", "Bob met Ann", "Ann met B0b", "Ann met Воb", "Ann met Bób", "Ann met Bob 🙂", "Ann met Bob\ue000"],
)
def test_what_stays_open_in_a_text(again):
    assert KEYS.contents([["Ann met Bob"]]) != KEYS.contents([[again]])


@pytest.mark.parametrize(("first", "again"), [("7", "07"), ("7", "7.0"), ("a-1", "a1"), ("a", "A")])
def test_what_stays_open_in_an_id(first, again):
    assert KEYS.ids([first], "id") != KEYS.ids([again], "id")


def test_cells_do_not_run_together():
    assert len(set(split(KEYS.contents([["ab", "a"], ["c", "bc"]])))) == 2
    assert normal_text([1.0, 2.5]) == "1 2.5"
    assert split(KEYS.rows([[[1.0, 2.5], [1, 2.5]]]))[0] == split(KEYS.rows([[[1.0, 2.5]]]))[0]


def test_a_record_without_content_has_the_key_of_nothing():
    assert KEYS.contents([["", " \n", None]]) == bytes(3 * WIDTH)
    assert KEYS.contents([["", "a"], ["", ""]])[:WIDTH] == bytes(WIDTH)


def test_an_empty_id_is_refused_with_its_row():
    with pytest.raises(InvalidInput, match="column 'id' at row 12 is empty"):
        KEYS.ids(["a", " ", "b"], "id", first=11)
    with pytest.raises(InvalidInput, match="column 'who' at row 1 is empty"):
        KEYS.users([None], "who")


def test_one_value_has_other_keys_for_other_uses_and_other_ledgers():
    other = RecordKeys(b"l" * 32)
    uses = [KEYS.ids(["a"], "id"), KEYS.users(["a"], "id"), KEYS.rows([["a"]]), other.ids(["a"], "id")]
    assert len(set(uses)) == 4


def test_no_plain_hash_of_a_record_is_its_key():
    plain = {hashlib.new(name, b"a").digest()[:WIDTH] for name in ("sha256", "blake2b", "md5")}
    plain |= {hashlib.blake2b(b"a", digest_size=WIDTH).digest(), hmac.new(b"", b"a", "sha256").digest()[:WIDTH]}
    assert KEYS.ids(["a"], "id") not in plain
    assert "kkkk" not in repr(KEYS)


@given(st.one_of(st.text(), st.integers(), st.floats(allow_nan=False), st.none()))
def test_normal_forms_stay_as_they_are(value):
    assert normal_name(normal_name(value)) == normal_name(value)
    assert normal_text(normal_text(value)) == normal_text(value)
    assert normal_text(str(value)) == normal_text(value) or value is None


@given(st.lists(st.text(min_size=1), max_size=8))
def test_one_key_for_each_record(values):
    assert len(KEYS.contents([values])) == WIDTH * len(values)
    assert split(KEYS.contents([values])) == [KEYS.contents([[value]]) for value in values]
