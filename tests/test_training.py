"""The training loop: checkpoints of one run only, limits, repeatable noise, and users that stay together."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from oddshift.attackers.paired_log_score import split  # noqa: E402
from oddshift.attackers.paper import PAPER_SCHEDULE, fit_paper  # noqa: E402
from oddshift.attackers.reconstruction import PaperSettings  # noqa: E402
from oddshift.attackers.training import Schedule, noise  # noqa: E402
from oddshift.base.errors import InvalidInput, TamperedEvidence  # noqa: E402
from worlds import ring  # noqa: E402

SMALL, QUICK = PaperSettings(architecture="rnn", width=16), replace(PAPER_SCHEDULE, epochs=1, batch=16)


def test_a_checkpoint_of_something_else_is_refused(tmp_path):
    known, file = ring(documents=30).known, tmp_path / "run.safetensors"
    fit_paper(known, SMALL, QUICK, checkpoint=file)
    with pytest.raises(InvalidInput, match="other data or settings"):
        fit_paper(known, SMALL, replace(QUICK, seed=9), checkpoint=file)
    file.write_bytes(file.read_bytes()[:-10])
    with pytest.raises(TamperedEvidence, match="not a complete checkpoint"):
        fit_paper(known, SMALL, QUICK, checkpoint=file)


def test_limits_end_training():
    known = ring(documents=30).known
    hurried = fit_paper(known, SMALL, replace(QUICK, epochs=500, max_seconds=0.01))
    assert len(hurried.curve.train) <= 2
    patient = fit_paper(known, SMALL, replace(QUICK, epochs=40, patience=2, learning_rate=1.0))
    assert len(patient.curve.train) < 40
    assert patient.curve.best_epoch == int(np.argmin(patient.curve.validation))
    with pytest.raises(InvalidInput, match="validation"):
        Schedule(validation=1.0)


def test_noise_is_that_of_seed_document_and_epoch():
    one = noise(1, np.array([4, 7]), np.array([2, 3]), 5)
    np.testing.assert_array_equal(one[2:], noise(1, np.array([7]), np.array([3]), 5))
    assert not np.array_equal(one, noise(1, np.array([4, 7]), np.array([2, 3]), 6))


def test_documents_of_one_user_are_not_split():
    clusters = np.repeat(np.arange(10), 3)
    learn, held = split(clusters, 0.2, seed=0)
    assert sorted([*learn, *held]) == list(range(30))
    assert not set(clusters[learn]) & set(clusters[held])
    with pytest.raises(InvalidInput, match="at least 2"):
        split(np.zeros(3, dtype=int), 0.2, seed=0)
