"""Parts of the checkup: requirements as metadata writes them, folders that cannot be written, a core that errs."""

from importlib import metadata

import pytest

from oddshift.app import doctor
from oddshift.app.doctor import Diagnosis, Package, diagnose


@pytest.mark.parametrize(
    ("line", "name", "wanted", "extra"),
    [
        ("numpy>=1.26", "numpy", ">=1.26", ""),
        ("torch==2.13.0; extra == 'attackers'", "torch", "==2.13.0", "attackers"),
        ('dask[distributed]>=2024; extra == "cluster"', "dask", ">=2024", "cluster"),
        ("scikit-learn", "scikit-learn", "", ""),
        ("typing_extensions>=4; python_version < '3.12'", "typing_extensions", ">=4", ""),
        ("x.y~=1.0 ; extra=='text'", "x.y", "~=1.0", "text"),
    ],
)
def test_a_requirement_is_read_as_metadata_writes_it(monkeypatch, line, name, wanted, extra):
    monkeypatch.setattr(metadata, "requires", lambda package: [line])
    monkeypatch.setattr(doctor, "_version", lambda package: "1.0")
    assert doctor._packages() == (Package(name, wanted, "1.0", extra),)


def test_a_requirement_of_another_system_is_left_out(monkeypatch):
    monkeypatch.setattr(metadata, "requires", lambda package: ["x; sys_platform == 'no-such-system'"])
    assert doctor._packages() == ()


def made(*packages, core_works=True):
    return Diagnosis("1", "3.11", "Linux", 1, 1.0, packages, (), "", "", core_works)


def test_each_incomplete_extra_has_one_command_and_the_core_its_own():
    gone = [Package(name, "", "", extra) for name, extra in (("a", "text"), ("b", "text"), ("c", ""), ("d", "cluster"))]
    assert made(*gone).missing == {
        "core": "pip install 'oddshift'",
        "cluster": "pip install 'oddshift[cluster]'",
        "text": "pip install 'oddshift[text]'",
    }
    assert made(Package("a", "", "1", "text")).missing == {}


def test_a_core_that_computes_something_else_does_not_work(monkeypatch):
    assert doctor._computes()
    monkeypatch.setattr(doctor, "TOY", doctor.TOY + 1e-3)
    assert not doctor._computes()
    assert not diagnose().core_works


def test_a_missing_library_of_the_core_is_a_core_that_does_not_work(monkeypatch):
    monkeypatch.setattr(doctor, "_packages", lambda: (Package("gone", "", "", ""),))
    assert not diagnose().core_works
    monkeypatch.setattr(doctor, "_packages", lambda: (Package("gone", "", "", "extra"),))
    assert diagnose().core_works


def test_a_folder_is_made_where_it_can_be_and_reported_where_it_cannot(tmp_path):
    assert doctor._can_write(tmp_path / "new" / "deep")
    assert list((tmp_path / "new" / "deep").iterdir()) == []
    (tmp_path / "file").write_text("x")
    assert not doctor._can_write(tmp_path / "file")
    assert not doctor._can_write(tmp_path / "file" / "below")
