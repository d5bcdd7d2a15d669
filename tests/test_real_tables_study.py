"""The study of real tables: where tables come from, and the two attackers that the default ones are held against."""

import tarfile

import numpy as np
import pytest
from studies.real_structure import _smoothed
from studies.real_tables import Source, _missing, _thinned, content

import oddshift as od
from oddshift.attackers.attacker import Knowledge
from oddshift.model.release import one_tier


def test_a_table_whose_package_is_not_installed_is_left_out_and_named():
    absent = Source("colon", "no_such_package", "colon.csv")
    assert content(absent) is None
    assert _missing([absent]) == "Not measured: colon (no no_such_package)."
    assert _missing([]) == ""


def test_a_table_is_read_from_a_package_that_is_never_imported(tmp_path, monkeypatch):
    home = tmp_path / "made_package"
    home.mkdir()
    (home / "__init__.py").write_text("raise RuntimeError")
    (home / "a.csv").write_text("x\n1\n")
    with tarfile.open(home / "all.tar.gz", "w:gz") as archive:
        archive.add(home / "a.csv", "inside/b.csv")
    monkeypatch.syspath_prepend(tmp_path)
    assert content(Source("a", "made_package", "a.csv")) == "x\n1\n"
    assert content(Source("b", "made_package", "all.tar.gz", "inside/b.csv")) == "x\n1\n"


def test_long_tables_are_thinned_evenly_and_keep_their_header():
    lines = _thinned("\n".join(["h", *map(str, range(9_000))])).splitlines()
    assert (lines[:3], len(lines)) == (["h", "0", "3"], 3_001)


def test_the_walk_is_the_exact_posterior_of_a_chain():
    rng = np.random.default_rng(0)
    space = od.Space(rng.normal(size=(4, 2)))
    mechanism = od.Exponential(space, epsilon=1.0)
    prior, law = rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(4), size=4)
    known = Knowledge(mechanism=mechanism, tiers=one_tier(space), fit=None, log_prior=np.log(prior))
    outputs = np.array([2, 0, 3, 3])
    found = _smoothed(known, law, outputs)
    exact = od.log_posterior(od.Markov(prior, law, 4), [mechanism.log_matrix] * 4, outputs)
    for mine, other in zip(found, exact, strict=True):
        assert mine / mine.sum() == pytest.approx(np.exp(other))
