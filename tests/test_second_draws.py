"""No second draw by changing how records are known; what stays open is tested as open."""

import json
import shutil
from dataclasses import replace

import pytest

from oddshift.base.errors import InvalidInput
from oddshift.protect import Ledger, ProtectSettings, Sanitizer, ledger_of, protect
from oddshift.protect.ledger.terms import ClaimTerms, KeyBatch
from oddshift.protect.policies import load_policy, save_policy
from oddshift.protect.record_keys import WIDTH
from policies import NAMES, names_policy, table_policy

POLICY = names_policy()


def rows():
    return [
        {
            "id": f"r{n}",
            "a": f"{NAMES[n]} met {NAMES[n + 1]} on day {n}.",
            "b": f"{NAMES[n]} saw it {n}.",
        }
        for n in range(8)
    ]


def asked(columns=("a",), **rest):
    return ProtectSettings(allow_uncertified=True, columns=columns, **rest)


@pytest.fixture
def home(tmp_path):
    save_policy(tmp_path / "policy", POLICY)
    return tmp_path


def release(home, name, settings, some=None, ledger=None):
    path = home / f"{name}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in (some or rows())))
    return protect(path, home / f"{name}-out.jsonl", POLICY, ledger or Ledger.beside(home / "policy"), settings)


WAYS = {
    "by content": asked(),
    "by id": asked(id="id"),
    "two texts": asked(("a", "b")),
    "the other order": asked(("b", "a")),
    "two texts by id": asked(("a", "b"), id="id"),
    "one of them": asked(("a",), clear=("b",)),
    "the other": asked(("b",)),
}


@pytest.mark.parametrize("first", ["by content", "by id", "two texts", "two texts by id"])
@pytest.mark.parametrize("second", WAYS)
def test_records_are_refused_whichever_way_they_are_named_the_second_time(home, first, second):
    release(home, "first", WAYS[first])
    if second == "the other" and first.startswith("by"):
        assert release(home, "second", WAYS[second]).records == 8, "these texts were never drawn"
        return
    with pytest.raises(InvalidInput, match="8 of 8 records were released before"):
        release(home, "second", WAYS[second])


def test_a_new_id_makes_no_new_text(home):
    release(home, "first", asked(id="id"))
    renamed = [{**row, "id": f"new {row['id']}"} for row in rows()]
    with pytest.raises(InvalidInput, match="with --id-only equal texts under new ids are other records"):
        release(home, "second", asked(id="id"), renamed)
    assert release(home, "third", asked(id="id", id_only=True), renamed).records == 8


def test_a_linked_policy_has_the_ledger_of_the_policy_itself(home):
    release(home, "first", asked())
    (home / "elsewhere").mkdir()
    for name in ("policy.json", "vocabulary.npz"):
        (home / "elsewhere" / name).symlink_to(home / "policy" / name)
    with pytest.raises(InvalidInput, match="released before"):
        release(home, "second", asked(), ledger=Ledger.beside(home / "elsewhere" / "policy.json"))
    (home / "again").symlink_to(home / "policy")
    with pytest.raises(InvalidInput, match="released before"):
        release(home, "third", asked(), ledger=Ledger.beside(home / "again"))


def test_texts_in_memory_are_known_by_their_content_next_to_their_ids(home):
    ledger = Ledger.beside(home / "policy")
    sanitizer = Sanitizer(POLICY, ledger=ledger)
    sanitizer.texts([row["a"] for row in rows()], ids=[row["id"] for row in rows()])
    with pytest.raises(InvalidInput, match="released before"):
        sanitizer.texts([rows()[3]["a"]])
    with pytest.raises(InvalidInput, match="released before"):
        sanitizer.texts([rows()[3]["a"]], ids=["another"])


def test_a_policy_that_states_its_ledger_takes_no_other(tmp_path):
    stated = replace(POLICY, terms=replace(POLICY.terms, ledger="service=oddshift"))
    save_policy(tmp_path, stated)
    again = load_policy(tmp_path)
    assert ledger_of(again, tmp_path) == Ledger("service=oddshift") == ledger_of(again, tmp_path, "service=oddshift")
    with pytest.raises(InvalidInput, match="ledger=service=another, expected that of the policy: service=oddshift"):
        ledger_of(again, tmp_path, "service=another")
    assert load_policy(tmp_path).sha256 != POLICY.sha256


# What stays open: the list in docs/protect.md


def once_more(text):
    return [{**row, "id": f"x{n}", "a": text(row["a"])} for n, row in enumerate(rows())]


OPEN = {
    "other words under another id": lambda home: release(
        home, "second", asked(id="id"), once_more(lambda text: text.replace(" met ", " has met "))
    ),
    "letters that look alike": lambda home: release(
        home, "second", asked(), once_more(lambda text: text.replace("o", "\u043e"))
    ),
    "accents": lambda home: release(home, "second", asked(), once_more(lambda text: text.replace("e", "é"))),
    "an emoji": lambda home: release(home, "second", asked(), once_more(lambda text: f"{text} 🙂")),
    "a word": lambda home: release(home, "second", asked(), once_more(lambda text: f"{text} Bye.")),
    "zeros before a number": lambda home: release(
        home, "second", asked(), once_more(lambda text: text.replace("day ", "day 0"))
    ),
    "punctuation between digits": lambda home: release(
        home, "second", asked(), [{**row, "a": f"{row['a']} 1-{n}"} for n, row in enumerate(rows())]
    ),
    "a copy of the policy elsewhere": lambda home: release(
        home,
        "second",
        asked(),
        ledger=Ledger.beside(shutil.copytree(home / "policy", home / "copy", ignore=ONLY_POLICY)),
    ),
    "ids alone": lambda home: release(home, "second", asked(id="id", id_only=True), once_more(lambda text: text)),
}


def ONLY_POLICY(folder, names):
    return [name for name in names if name.startswith("releases")]


@pytest.mark.parametrize("way", OPEN)
def test_what_stays_open_is_open(home, way):
    """If one of these is refused some day, its line in the docs goes."""
    release(home, "first", asked(id="id") if "id" in way else asked())
    assert OPEN[way](home).repeated == 0


def test_an_id_that_is_written_otherwise_is_another_id(home):
    keys = Ledger.beside(home / "policy").keys()
    assert len({keys.ids([name], "id") for name in ("7", "07", "7.0")}) == 3


def test_single_rows_of_a_table_are_open_and_all_of_them_are_not(tmp_path):
    """Rows by an id and then without one: equal rows are counted either way, and a few of them are chance."""
    policy = table_policy(2.0)
    names = policy.codec.required
    ledger = Ledger(tmp_path / "releases.db")
    keys = ledger.keys()
    rows = keys.rows([[f"{name} {n}" for n in range(40)] for name in names])
    terms = ClaimTerms(policy="p", epsilon=1.0)
    ledger.claim([KeyBatch(keys.ids(range(40), "id"), rows=rows)], terms, is_final=True)
    unnamed = replace(terms, is_named=False)
    with pytest.raises(InvalidInput, match="40 of 40 rows"):
        ledger.claim([KeyBatch(rows)], unnamed, is_final=True)
    with pytest.raises(InvalidInput, match="40 of 40 rows"):
        ledger.claim([KeyBatch(keys.ids(range(100, 140), "id"), rows=rows)], terms, is_final=True)
    assert ledger.claim([KeyBatch(rows[:WIDTH])], unnamed, is_final=True).records == 1
