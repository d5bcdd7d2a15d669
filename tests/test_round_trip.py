"""Would a value be read back as it was written: fields of one kind, types that other fields determine, refusals."""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pytest

from oddshift.base.arrays import FloatArray
from oddshift.base.errors import InvalidInput, NotInstalled, TamperedEvidence
from oddshift.base.identity import refuse_unreadable
from oddshift.base.storage import TYPED_BY, digest, load, save


@dataclass(frozen=True)
class Pear:
    kind: Literal["pear"] = "pear"
    grams: float = 100.0


@dataclass(frozen=True)
class Apple:
    grams: float = 100.0


def fruit(known):
    if known["name"] not in {"pear", "apple"}:
        raise NotInstalled(f"no {known['name']}")
    return Pear if known["name"] == "pear" else Apple


@dataclass(frozen=True)
class Basket:
    name: str
    held: Any = field(metadata={TYPED_BY: fruit})


@dataclass(frozen=True, eq=False)
class Crate:
    weights: FloatArray


@dataclass(frozen=True)
class Shelf:
    books: Any


def test_a_field_of_the_type_that_an_earlier_one_says_comes_back(tmp_path):
    for basket in (Basket("pear", Pear(grams=7.0)), Basket("apple", Apple())):
        assert save(tmp_path / "basket.json", basket) == digest(basket)
        assert load(tmp_path / "basket.json", Basket) == basket
        refuse_unreadable(basket, "no")


def test_another_type_than_the_earlier_field_says_is_refused(tmp_path):
    save(tmp_path / "basket.json", Basket("apple", Pear()))
    with pytest.raises(TamperedEvidence, match=r"value\.held is a Pear, expected an Apple"):
        load(tmp_path / "basket.json", Basket)
    with pytest.raises(InvalidInput, match=r"stays here: value\.held is a Pear"):
        refuse_unreadable(Basket("apple", Pear()), "it stays here")


def test_what_is_not_installed_says_so_and_does_not_look_damaged(tmp_path):
    save(tmp_path / "basket.json", Basket("plum", Apple()))
    with pytest.raises(NotInstalled, match=r"^no plum$"):
        load(tmp_path / "basket.json", Basket)


def test_a_field_called_kind_stays_at_its_default(tmp_path):
    assert save(tmp_path / "pear.json", Pear()) == digest(Pear())
    assert load(tmp_path / "pear.json", Pear) == Pear()
    assert '"kind": "Pear"' in (tmp_path / "pear.json").read_text()
    with pytest.raises(InvalidInput, match=r"value\.kind is not its default"):
        save(tmp_path / "pear.json", Pear(kind="quince"))


def test_arrays_are_left_as_they_were():
    crate = Crate(np.ones(2))
    refuse_unreadable(crate, "no")
    assert crate.weights.flags.writeable


@pytest.mark.parametrize(
    "books", [{"a"}, object(), b"a", float("nan"), np.array(["a"])], ids=lambda b: type(b).__name__
)
def test_what_no_file_keeps_is_refused_with_the_opening_of_the_message(books):
    with pytest.raises(InvalidInput, match=r"^the shelf stays here: value\.books is "):
        refuse_unreadable(Shelf(books), "the shelf stays here")
