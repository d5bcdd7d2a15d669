"""What an audit says in addition to its numbers: each warning where it belongs and nowhere else, and limits on work."""

from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest

from oddshift.app import resources
from oddshift.app.resources import TRIAL, CpuLimit, fit_within, rows_within, within_cpu
from oddshift.attackers.attacker import Knowledge, knowledge
from oddshift.attackers.controls import Null, Own
from oddshift.attackers.training import Curve
from oddshift.audit.claims import ClaimBuilder
from oddshift.audit.measurement import AuditReleases
from oddshift.audit.notes import CONTROLS, assumptions, beyond, single_exceeds, warnings
from oddshift.audit.result import AttackerResult, PairSplit, TierRates, learning_curve, tier_rates
from oddshift.audit.scan import Budget
from oddshift.audit.settings import AuditSettings
from oddshift.base.errors import InvalidInput
from oddshift.bounds import zero_failures
from oddshift.evidence.certificates import Claim, certify, evidence_of
from oddshift.evidence.witness import witness_of
from oddshift.mechanisms import Exponential
from oddshift.model.records import Records
from oddshift.model.release import one_tier, perturb
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers

SPACE = Space([[0.0], [1.0], [3.0]])
SETTINGS = AuditSettings(epsilon=1.5, delta=0.1)


def known_of(epsilon=1.0, tiers=None) -> Knowledge:
    records = Records.from_documents(SPACE, [[0, 1], [2]])
    return knowledge(Exponential(SPACE, epsilon), tiers or one_tier(SPACE), records)


def result(name="counts", *, learned=True, largest=1.0, split=None, joint_gain=0.5, with_context=False):
    rates = TierRates(
        tier="all", documents=90, positions=200, uniform=0.1, anchored=0.1, diagnostic=0.1, worst=None,
        worst_documents=0, top1=0.5, before=0.0, mean=0.2, pair_split=split,
    )  # fmt: skip
    return AttackerResult(
        name=name, with_context=with_context, log_score=1.0, gain=0.5, gain_error=0.1, joint_gain=joint_gain,
        joint_gain_error=0.1, learned=learned, largest=largest, tiers=(rates,),
        histogram=np.zeros((2, 1, 121)), curve=Curve(),
    )  # fmt: skip


def evidence(units=300, attacker="counts", tier="all", law="anchored"):
    claim = Claim(epsilon=1.5, delta=0.1, tier=tier, pair_law=law, attacker=attacker, attacker_hash=attacker,
                  with_context=False, detector="list")  # fmt: skip
    values = np.zeros(units)
    return evidence_of(certify(values, claim, 0.05), values, mechanism_hash="m", split_hash="s")


def warned(results=None, given=None, known=None, settings=SETTINGS, bounds=(None, None)):
    rows = [result("own", learned=False), result()] if results is None else results
    return warnings(rows, given or [evidence()], known or known_of(), settings, bounds=bounds)


def test_an_audit_without_a_problem_warns_of_nothing():
    assert warned() == ()


def test_an_attacker_that_learned_nothing_is_named_and_controls_are_not():
    idle = [*(result(name, learned=False) for name in CONTROLS), result("idle", learned=False)]
    (note,) = warned([*idle, result()])
    assert note.startswith("attacker idle did not significantly beat")
    assert "given W" not in note
    (note,) = warned([result("idle+W", learned=False, with_context=True), result()])
    assert "baseline given W" in note


def test_a_declaration_of_independence_that_an_attacker_refutes_is_said_to_be():
    declared = replace(SETTINGS, independent=True)
    rows = [result("weak", joint_gain=0.1), result("counts", joint_gain=0.25)]
    (note,) = warned(rows, settings=declared)
    assert "yet attacker counts gains 0.250 nats by reading them together" in note
    assert warned([result(learned=False, name="own")], settings=declared) == ()


def test_too_few_units_say_how_many_are_needed():
    needs = zero_failures(0.1, 0.05, SETTINGS.method)
    assert warned(given=[evidence(needs)]) == ()
    (note,) = warned(given=[evidence(needs - 1)])
    assert f"at least {needs} independent units" in note
    assert f"there are {needs - 1}" in note
    assert warned(given=[evidence(3)], settings=replace(SETTINGS, delta=None)) == ()


def test_only_the_law_of_the_verdict_and_the_strongest_attacker_need_enough_units():
    given = [evidence(), evidence(3, law="worst"), evidence(3, attacker="other")]
    assert warned(given=given) == ()
    assert len(warned(given=[evidence(), evidence(3, tier="PoII")])) == 1


@pytest.mark.parametrize(("epsilon", "exceeds"), [(1.0, False), (10.0, True)])
def test_one_release_that_exceeds_the_budget_alone_is_said_to(epsilon, exceeds):
    known = known_of(epsilon)
    assert single_exceeds(known, 1.5) == exceeds
    notes = warned(known=known)
    assert [note.startswith("one release alone already exceeds the budget") for note in notes] == [True] * exceeds


def test_rounding_is_not_an_excess():
    known = known_of()
    assert not beyond(1.5 * (1 + 1e-15), 1.5, known)
    assert beyond(1.6, 1.5, known)
    assert not beyond(1.4, 1.5, known)


def test_pairs_across_secret_tiers_are_told_for_the_strongest_attacker():
    split = PairSplit(anchored_within=0.02, anchored_across=0.125, uniform_within=0.0, uniform_across=0.0)
    (note,) = warned([result("other", split=split), result("counts", split=split)])
    assert note == (
        "all: 12.50% of the anchored pairs across secret tiers exceed epsilon, 2.00% within the tier (attacker counts, "
        "an estimate)"
    )


def test_an_estimate_above_what_is_proven_is_flagged_and_never_clipped():
    (note,) = warned([result(largest=4.0)], bounds=(None, 3.0))
    assert note.endswith("it estimates a leakage of 4, above the proven bound 3")
    assert warned([result(largest=3.0)], bounds=(None, 3.0)) == ()


def test_an_estimate_below_what_was_witnessed_is_flagged_except_for_controls():
    shown = witness_of("guess_game", (61, 68), (1.0,), alpha=0.05, epsilon=1.0)
    (note,) = warned([result(largest=1.0), result("own", learned=False, largest=0.5)], bounds=(shown, None))
    assert note == "attacker counts is miscalibrated: its largest leakage 1 lies below the witnessed 1.485"


@pytest.mark.parametrize("is_public", [True, False])
def test_assumptions_name_the_unit_the_tiers_the_attacker_and_the_detector(is_public):
    tiers = Tiers([0, 0, 1], names=("PII", "PoII"), scales=(1.0, 1.0), is_public=is_public)
    claims = ClaimBuilder(SETTINGS, "gazetteer", "user")
    said = assumptions(known_of(tiers=tiers), claims, [SimpleNamespace(name="counts", with_context=is_public)])
    assert "users are independent draws of one population" in said
    assert f"tiers are {'public' if is_public else 'secret'}" in said
    reads = "the public context W" if is_public else "the sensitive positions only"
    assert f"attacker counts reads {reads}" in said
    assert "detector: gazetteer; what no detector finds is released in the clear" in said
    assert not any("declared" in line for line in said)
    declared = replace(claims, question=replace(SETTINGS, independent=True))
    assert any("declared, not tested" in line for line in assumptions(known_of(), declared, [Own(known_of())]))


@dataclass(frozen=True, eq=False)
class Trained:
    """An attacker with a curve, or made of others that have one."""

    name: str = "made"
    with_context: bool = False
    curve: Curve | None = None
    parts: tuple = ()


def test_how_a_network_learned_is_looked_for_inside_what_was_made_of_it():
    curve = Curve(train=(1.0,), validation=(2.0, 1.5))
    assert learning_curve(Trained(curve=curve)) is curve
    nested = Trained(parts=(Trained(), Trained(parts=(Trained(curve=curve),))))
    assert learning_curve(nested) is curve
    assert learning_curve(Trained(parts=(Trained(),))) == Curve()
    assert learning_curve(Own(known_of())) == Curve()


def audited(folder=None, documents=6):
    records = Records.from_documents(SPACE, [[0, 1], [2], [1, 1, 0]] * (documents // 3))
    known = known_of()
    release = perturb(records, known.mechanism, known.tiers, np.random.default_rng(0))
    budget = Budget(known.mechanism, known.tiers, 0.5)
    return AuditReleases(release, records, release, records, budget, SETTINGS, folder)


def test_rates_of_a_tier_are_means_over_documents_and_not_over_positions():
    made = audited()
    found = made.measure((1, Own(known_of()))).certify
    (row,) = tier_rates(found, made.certify, made.budget.tiers, {0: np.array([1.0, 0.0, 1.0, 1.0])})
    lengths, starts = made.certify.lengths, made.certify.offsets[:-1]
    by_document = [found.hit[a : a + n].mean() for a, n in zip(starts, lengths, strict=True)]
    assert row.top1 == pytest.approx(np.mean(by_document))
    assert (row.documents, row.positions, row.pair_split) == (6, 12, None)
    assert (row.worst, row.worst_documents) == (0.75, 4)
    assert tier_rates(found, made.certify, made.budget.tiers, {})[0].worst is None


def test_a_measurement_is_kept_and_read_again_only_for_the_same_attacker(tmp_path):
    made, known = audited(tmp_path), known_of()
    first = made.measure((1, Own(known)))
    (kept,) = tmp_path.glob("01-*.npz")

    @dataclass(frozen=True, eq=False)
    class Refusing:
        """The same fingerprint as `own`; it must not be asked again."""

        fingerprint = Own(known).fingerprint
        name: str = "own"
        with_context: bool = False

        def beliefs(self, release):
            raise AssertionError("measured twice")

    again = made.measure((1, Refusing()))
    np.testing.assert_array_equal(again.certify.anchored, first.certify.anchored)
    made.measure((1, Null(known)))
    assert len(list(tmp_path.glob("01-*.npz"))) == 2
    assert kept.is_file()


def test_other_settings_do_not_read_what_was_kept(tmp_path):
    made, known = audited(tmp_path), known_of()
    made.measure((1, Own(known)))
    replace(made, settings=replace(SETTINGS, seed=9)).measure((1, Own(known)))
    assert len(list(tmp_path.glob("01-*.npz"))) == 2


def split_of(documents):
    records = Records.from_documents(SPACE, [[k % 3, (k + 1) % 3] for k in range(documents)])
    return records.split(rng=np.random.default_rng(0))


class Clock:
    """CPU time that passes only when somebody says so."""

    def __init__(self, monkeypatch, *ticks):
        self.now, self.ticks = 0.0, list(ticks)
        monkeypatch.setattr(resources.time, "process_time", self.read)

    def read(self):
        return self.ticks.pop(0) if self.ticks else self.now


def test_enough_seconds_change_nothing():
    split = split_of(200)
    found, note = within_cpu(split, known_of(), [], CpuLimit.begin(1e6), 0)
    assert found is split
    assert note == ""


def test_few_seconds_leave_some_documents_drawn_at_random_and_say_so(monkeypatch):
    split, clock = split_of(1_000), Clock(monkeypatch)
    limit = CpuLimit.begin(400.0)
    clock.ticks, clock.now = [0.0, 16.0], 16.0  # one second for each of the documents of the trial
    found, note = within_cpu(split, known_of(), [], limit, 0)
    wanted = len(split.select) + len(split.certify)
    left = len(found.select) + len(found.certify)
    assert left == pytest.approx(0.7 / 2.5 * (0.95 * 400.0 - 2.0 - 16.0), abs=2)
    assert note == f"limited to 400 CPU s: {left} of {wanted} records to choose and certify with, drawn at random"
    assert found.fit is split.fit


def test_never_fewer_documents_than_a_trial_and_no_negative_limit(monkeypatch):
    split = split_of(400)
    Clock(monkeypatch, 0.0, 1e9)
    found, _ = within_cpu(split, known_of(), [], CpuLimit(1.0, 0.0), 0)
    assert len(found.select) == len(found.certify) == TRIAL
    with pytest.raises(InvalidInput, match=r"max_cpu=-1\.0, expected"):
        CpuLimit.begin(-1.0)


@pytest.mark.parametrize(("fixed", "each"), [(0.0, 0.01), (2.0, 0.01), (0.0, 0.1), (5.0, 0.2)])
def test_attackers_learn_from_as_many_documents_as_the_limit_allows(monkeypatch, fixed, each):
    fit, clock = split_of(3_000).fit, Clock(monkeypatch)
    limit, sizes = CpuLimit.begin(200.0), []

    def fitting(some):
        sizes.append(len(some))
        clock.now += fixed + each * len(some)

    found, note = fit_within(fit, fitting, limit, np.random.default_rng(0))
    allowed = 0.4 * (0.95 * 200.0 - 2.0) / 2.0
    full = fixed + each * len(fit)
    assert sizes == [112, 224], "the cost is estimated on small parts"
    assert (found is fit) == (note == "") == (1.2 * full <= allowed)
    if note:
        assert fixed + each * len(found) <= allowed or len(found) == 112
        assert note == f"limited to 200 CPU s: attackers learn from {len(found)} of 1800 records"


def test_a_trial_that_takes_all_the_time_there_is_for_fitting_is_the_only_one(monkeypatch):
    fit, clock = split_of(3_000).fit, Clock(monkeypatch)
    limit, sizes = CpuLimit.begin(20.0), []

    def fitting(some):
        sizes.append(len(some))
        clock.now += 4.0

    found, note = fit_within(fit, fitting, limit, np.random.default_rng(0))
    assert (sizes, len(found)) == ([112], 112)
    assert note == "limited to 20 CPU s: attackers learn from 112 of 1800 records"


def test_few_long_documents_are_tried_too(monkeypatch):
    """Trips of many fixes: a hundred of them cost as much as thousands of rows."""
    records = Records.from_documents(SPACE, [[k % 3 for k in range(50)] for _ in range(200)])
    fit, clock = records.split(rng=np.random.default_rng(0)).fit, Clock(monkeypatch)
    sizes = []

    def fitting(some):
        sizes.append(len(some))
        clock.now += 0.5 * len(some)

    found, note = fit_within(fit, fitting, CpuLimit.begin(100.0), np.random.default_rng(0))
    assert sizes == [11, 22]
    assert 11 <= len(found) < len(fit) == 120
    assert note.startswith("limited to 100 CPU s: attackers learn from ")


def test_few_documents_are_all_learned_from(monkeypatch):
    Clock(monkeypatch)
    fit = split_of(200).fit
    found, note = fit_within(fit, lambda some: pytest.fail("no trial"), CpuLimit(1.0, 0.0), np.random.default_rng(0))
    assert found is fit
    assert not note


def test_attackers_that_need_more_documents_than_a_trial_get_all_of_them(monkeypatch):
    def fitting(some):
        raise InvalidInput("too few documents")

    fit = split_of(3_000).fit
    assert fit_within(fit, fitting, CpuLimit.begin(1.0), np.random.default_rng(0)) == (fit, "")


@pytest.mark.parametrize(("seconds", "rows"), [(1e6, 4_000), (100.0, 3_875), (10.0, 312), (1.0, 200)])
def test_as_many_rows_are_measured_as_the_rest_of_the_time_allows(monkeypatch, seconds, rows):
    clock = Clock(monkeypatch)

    def measure(count):
        clock.now += 0.0

    limit = CpuLimit.begin(seconds)
    clock.ticks = [0.0, 4.0, 0.0]  # 200 rows take four seconds, which are over when the rest is looked at
    found = rows_within(measure, 200, 4_000, limit)
    assert found == pytest.approx(min(4_000, max(200, limit.left / (1.2 * 0.02))), abs=1)
    assert found == pytest.approx(rows, rel=0.01)
    assert rows_within(measure, 4_000, 4_000, limit) == 4_000


@pytest.mark.parametrize(
    ("points", "columns", "said", "silent"),
    [
        (64, 2, "", "over"),
        (65, 2, "over 65 points triples and pairs at distant places are read where", "no attacker looked"),
        (401, 2, "no attacker looked for two secrets that together tell less than 0.05 nats", "steps between near"),
        (401, 2, "or for hidden regimes of steps", "steps between near"),
        (401, 9, "steps between near points that were never counted (above 400)", "(above 1,600)"),
    ],
)
def test_what_is_out_of_reach_by_the_number_of_points_is_said(points, columns, said, silent):
    space = Space(np.random.default_rng(0).random((points, columns)))
    known = knowledge(Exponential(space, 1.0), one_tier(space), Records.from_documents(space, [[0, 1], [2]]))
    claims = ClaimBuilder(SETTINGS, "list", "document")
    portfolio = SimpleNamespace(name="portfolio, recalibrated", with_context=False)
    lines = " ".join(assumptions(known, claims, [portfolio]))
    assert said in lines
    assert silent not in lines
    assert "points" not in " ".join(assumptions(known, claims, [Own(known)]))
