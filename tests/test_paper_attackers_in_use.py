"""Attackers of the paper in audits and adaptations: controls at the same T, one network for all scales, other words."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from oddshift.adapt import AdaptSettings  # noqa: E402
from oddshift.app import attacker_choice  # noqa: E402
from oddshift.app.attacker_choice import AmortisedCheck, named_attackers  # noqa: E402
from oddshift.app.run import Run, adapt_task  # noqa: E402
from oddshift.attackers import ATTACKERS, FitOptions  # noqa: E402
from oddshift.attackers.fitting import PaperOptions  # noqa: E402
from oddshift.audit import AuditSettings  # noqa: E402
from oddshift.base.errors import InvalidInput  # noqa: E402
from oddshift.data.embedded import PeopleSettings  # noqa: E402
from oddshift.data.preparation import prepare  # noqa: E402
from oddshift.mechanisms.settings import MechanismSettings  # noqa: E402
from worlds import ring  # noqa: E402


@pytest.fixture(scope="module")
def people():
    torch.set_num_threads(1)
    return prepare(PeopleSettings(documents=150, by_kind=False), 0)


def test_controls_are_a_softmax_around_the_mean_and_around_the_own_posterior():
    world = ring()
    points = world.known.mechanism.space.points
    options = FitOptions(paper=PaperOptions(tau_base=0.5))
    for name in ("paper-null", "paper-own"):
        control = ATTACKERS[name](world.known, np.random.default_rng(0), options)
        block = next(iter(control.beliefs(world.release)))
        guess = points.mean(axis=0)
        if name == "paper-own":
            law = np.exp(world.known.mechanism.log_columns(world.release.outputs[block.positions[:1]])[0])
            law *= np.exp(world.known.log_prior)
            guess = law @ points / law.sum()
        slow = -((guess - points) ** 2).sum(axis=1) / 0.5
        found = block.shift[0]
        assert found - found[0] == pytest.approx(slow - slow[0], abs=1e-9)
        assert control.name == name


@pytest.mark.parametrize(
    ("asked", "rule", "added"),
    [(("paper-rnn",), "fixed", True), (("paper-rnn",), "fitted", False), (("plugin",), "fixed", False)],
)
def test_controls_go_with_attackers_in_paper_mode_at_a_fixed_temperature(people, asked, rule, added):
    settings = AuditSettings(epsilon=2.0, attackers=asked, paper=PaperOptions(temperature=rule))
    names, _ = named_attackers(asked, people, settings)
    assert set(names) == {*asked, *(("paper-null", "paper-own") if added else ())}


def test_the_check_compares_rises():
    at = {"attacker": "paper-rnn", "scales": (0.1, 1.0)}
    assert not AmortisedCheck(**at, amortised=(0.12, 0.10), retrained=(0.10, 0.18)).holds
    assert not AmortisedCheck(**at, amortised=(0.10, 0.28), retrained=(0.10, 0.18)).holds
    assert AmortisedCheck(**at, amortised=(0.10, 0.15), retrained=(0.10, 0.18)).holds
    assert AmortisedCheck(**at, amortised=(0.10, 0.105), retrained=(0.10, 0.095)).holds, "no rise on either side"


ASKED = AdaptSettings(
    epsilon=2.0, delta=0.2, attackers=("paper-rnn",), epochs=2, grid=(0.5, 1.0), preset="AmPL", rounds=1
)


def test_a_weak_network_for_all_scales_is_refused_and_a_good_one_noted(people, monkeypatch):
    from oddshift.attackers import paper

    def shares(values):
        given = iter(values)
        monkeypatch.setattr(paper, "share_beyond", lambda attacker, release, epsilon: next(given))

    shares([0.10, 0.10, 0.11, 0.19])  # at .5 amortised and retrained, then at 1
    with pytest.raises(InvalidInput, match=r"adapt\.retrain = true"):
        adapt_task(people, MechanismSettings(), ASKED)
    shares([0.10, 0.10, 0.17, 0.19])
    (note,) = adapt_task(people, MechanismSettings(), ASKED).notes
    assert "17.0%" in note
    assert "19.0%" in note


def test_what_is_trained_anew_and_what_has_one_scale_is_not_checked(people, monkeypatch):
    monkeypatch.setattr(attacker_choice, "AmortisedCheck", None)
    assert adapt_task(people, MechanismSettings(), replace(ASKED, retrain=True)).notes == ()
    assert adapt_task(people, MechanismSettings(), replace(ASKED, attackers=("plugin",))).notes == ()


def test_the_loop_begins_where_it_is_told(people):
    asked = replace(ASKED, attackers=("plugin",), preset="AmPL-U", start=(0.5, 0.75))
    found = Run(people, MechanismSettings()).adapt(asked).result
    assert found.rounds[0].outcome.scales == (0.5, 0.75)
    with pytest.raises(InvalidInput, match=r"start=\(0\.5,\)"):
        Run(people, MechanismSettings()).adapt(replace(asked, start=(0.5,)))
    with pytest.raises(InvalidInput, match=r"start=\(1\.5, 1\.0\)"):
        replace(asked, start=(1.5, 1.0))


def test_an_attacker_may_see_words_in_another_embedding(people, tmp_path):
    words = np.array(people.names)
    path = tmp_path / "other.npz"
    np.savez(path, words=words[1:], vectors=np.random.default_rng(0).normal(size=(len(words) - 1, 5)))
    run = Run(people, MechanismSettings())
    settings = AuditSettings(epsilon=2.0, attackers=("paper-rnn",), epochs=1)
    plain, other = (
        run.audit(replace(settings, paper=PaperOptions(embedding=embedding))).result.row("paper-rnn")
        for embedding in ("", str(path))
    )
    assert plain.log_score != other.log_score
    np.savez(path, words=np.array(["elsewhere"]), vectors=np.ones((1, 5)))
    with pytest.raises(InvalidInput, match="a vector for none of"):
        run.audit(replace(settings, paper=PaperOptions(embedding=str(path))))
