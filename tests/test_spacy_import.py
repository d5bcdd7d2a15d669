"""spaCy is imported with torch in a user's process, and without it in a command where nothing needs it."""

import importlib
import sys
from contextlib import nullcontext
from types import ModuleType

import pytest

from oddshift.base.errors import InvalidInput
from oddshift.base.spacy_import import WITH_TORCH, import_spacy, leaving_out, sparing_torch

STUB = """
try:
    import torch
except ImportError:
    torch = None
"""


@pytest.fixture
def stub(tmp_path, monkeypatch):
    """A spaCy that only notes whether torch could be imported, and a torch that costs nothing; neither is loaded."""
    (tmp_path / "spacy.py").write_text(STUB)
    (tmp_path / "torch.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("spacy", "torch"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
        del sys.modules[name]
    return tmp_path


def test_a_users_process_gets_torch_as_always(stub):
    assert import_spacy().torch is not None


def test_a_command_does_not_import_torch_and_can_import_it_later(stub):
    with sparing_torch():
        assert import_spacy().torch is None
    assert "torch" not in sys.modules
    import torch

    assert torch.__file__.startswith(str(stub))


def test_torch_that_is_loaded_already_or_that_a_pipeline_needs_stays(stub, monkeypatch):
    (stub / f"{WITH_TORCH[1]}.py").write_text("")
    with sparing_torch():
        assert import_spacy().torch is not None
        (stub / f"{WITH_TORCH[1]}.py").unlink()
        monkeypatch.delitem(sys.modules, "spacy")
        assert "torch" in sys.modules
        assert import_spacy().torch is not None


def test_other_libraries_are_left_out_in_the_same_way(stub):
    (stub / "unneeded.py").write_text("")
    with leaving_out("unneeded"):
        importlib.import_module("unneeded")
    del sys.modules["unneeded"]
    with sparing_torch(), leaving_out("unneeded"), pytest.raises(ImportError):
        importlib.import_module("unneeded")
    assert importlib.import_module("unneeded").__file__.startswith(str(stub))
    del sys.modules["unneeded"]


@pytest.mark.parametrize("place", [sparing_torch, nullcontext])
def test_without_spacy_one_line_says_how_to_get_it(stub, monkeypatch, place):
    monkeypatch.setitem(sys.modules, "spacy", None)
    with place(), pytest.raises(InvalidInput, match=r"^spaCy is not installed; get it with: pip install 'oddshift"):
        import_spacy()
    assert "torch" not in sys.modules
