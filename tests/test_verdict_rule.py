"""The rule of the verdict: who counts, who may accuse, what every attacker together certifies, and in which order."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pytest

import oddshift as od
from oddshift.attackers.attacker import Attacker, Beliefs, knowledge
from oddshift.attackers.controls import Own, exact_attacker
from oddshift.attackers.law_attacker import LawAttacker
from oddshift.attackers.paired_log_score import Gain
from oddshift.attackers.prior_by_place import fit_place_prior, place_weights
from oddshift.audit import AuditSettings, audit
from oddshift.audit.calibration import Recalibrated, recalibrated
from oddshift.audit.claims import CROSSED, NOTHING_LEARNED, ClaimBuilder, TierValues
from oddshift.audit.measurement import AuditReleases, worst_of_units
from oddshift.audit.scan import Budget, scan, scores
from oddshift.audit.verdict import Basis, GuessValues, Rule, Seen, Standing, basis_of, judged
from oddshift.base.errors import NoGuarantee
from oddshift.bounds import betting_plugin_lower, betting_plugin_upper, betting_upper
from oddshift.evidence.certificates import Claim, certify, certify_joint, evidence_name, verify
from oddshift.model.records import Records
from oddshift.model.release import one_tier, perturb
from oddshift.model.tiers import Tiers

K, LENGTH = 6, 4
SPACE = od.Space(np.random.default_rng(4).normal(size=(K, 2)))
EM = od.Exponential(SPACE, 1.0)
STEP = np.full((K, K), 0.1 / K) + 0.9 * np.roll(np.eye(K), 1, axis=1)
LAW = od.Markov(np.full(K, 1 / K), STEP, LENGTH)


def walks(n, seed):
    """Documents of the law, value by value."""
    rng = np.random.default_rng(seed)
    values = np.empty((n, LENGTH), dtype=np.int64)
    values[:, 0] = rng.integers(0, K, n)
    for t in range(1, LENGTH):
        values[:, t] = (rng.random(n)[:, None] >= STEP[values[:, t - 1]].cumsum(axis=1)).sum(axis=1)
    return Records.from_documents(SPACE, list(np.minimum(values, K - 1)))


@dataclass(frozen=True, eq=False)
class Loud:
    """The exact attacker, made too sure: its context term counts more than it should."""

    inner: Attacker
    factor: float
    name: str = "loud"
    with_context: bool = False

    def beliefs(self, release) -> Iterator[Beliefs]:
        for block in self.inner.beliefs(release):
            own = EM.log_columns(release.outputs[block.positions])
            yield Beliefs(block.positions, own + self.factor * (block.shift - own), block.log_prior)


@pytest.fixture(scope="module")
def world():
    split = walks(1500, 0).split(rng=np.random.default_rng(1))
    known = knowledge(EM, one_tier(SPACE), split.fit)
    return split, known, exact_attacker(known, lambda length: LAW)


def rate(found, attacker):
    """The certificate of one attacker under the law of the verdict."""
    return next(
        e.certificate
        for e in found.evidence
        if (e.certificate.claim.attacker, e.certificate.claim.pair_law) == (attacker, "anchored")
    )


def test_who_counts_and_who_is_strongest():
    idle, keen, best = (Standing(score, Gain(joint, 0.1)) for score, joint in ((0.5, 0.0), (1.2, 0.5), (1.0, 0.5)))
    assert basis_of([idle, keen, best], 0, "") == basis_of([idle, keen, best], 0, "independence")
    found = basis_of([idle, keen, best], 0, "")
    assert (found.counting, found.strongest, found.withheld) == ((1, 2), 2, "")


def test_without_an_attacker_that_learned_the_single_release_is_all_there_is():
    idle = Standing(0.5, Gain(0.0, 0.1))
    assert basis_of([idle, idle], 1, "").withheld == NOTHING_LEARNED
    carried = basis_of([idle, idle], 1, "declared")
    assert (carried.counting, carried.carrier, carried.withheld) == ((1,), "declared", "")


def test_one_attacker_within_delta_does_not_certify_what_another_one_exceeds(world):
    """The best log score alone would certify; a less calibrated attacker of the same audit exceeds delta."""
    split, known, exact = world
    alone = audit(split, known, [exact], AuditSettings(epsilon=1.6, delta=0.5, worst_positions=5))
    delta = rate(alone, "exact").upper + 0.005
    asked = AuditSettings(epsilon=1.6, delta=delta, worst_positions=5)
    assert audit(split, known, [exact], asked).state == "certified"
    both = audit(split, known, [exact, Loud(exact, 1.8)], asked)
    assert both.strongest == "exact"
    assert (rate(both, "exact").state, rate(both, "loud").state) == ("certified", "violated")
    assert both.state == "undecided"
    assert both.deciding.claim.attacker == "loud"


def test_every_attacker_that_counts_has_its_evidence_and_it_verifies(world):
    split, known, exact = world
    found = audit(split, known, [exact, Loud(exact, 1.8)], AuditSettings(epsilon=1.6, delta=0.3, worst_positions=5))
    behind = {e.certificate.claim: e for e in found.evidence}
    assert {part.claim.attacker for part in found.verdict.parts} >= {"exact", "loud"}
    assert all(behind[part.claim].certificate == part for part in found.verdict.parts)
    assert all(verify(e).holds for e in found.evidence)
    names = [evidence_name(e.certificate.claim) for e in found.evidence]
    assert len(set(names)) == len(names)


def test_too_sure_an_attacker_does_not_show_a_violation(world):
    """Alone it would exceed delta; recalibrated on the select documents it is the exact one again."""
    split, known, exact = world
    truth = rate(audit(split, known, [exact], AuditSettings(epsilon=1.6, delta=0.5, worst_positions=5)), "exact")
    asked = AuditSettings(epsilon=1.6, delta=truth.upper + 0.005, worst_positions=5)
    found = audit(split, known, [Loud(exact, 1.8)], asked)
    assert rate(found, "loud").state == "violated"
    assert rate(found, "loud, recalibrated").mean == pytest.approx(truth.mean, abs=0.04)
    assert found.state == "undecided"
    assert sum(found.verdict.accusing) == 1


def test_the_strongest_shows_a_violation(world):
    split, known, exact = world
    truth = rate(audit(split, known, [exact], AuditSettings(epsilon=1.6, delta=0.5, worst_positions=5)), "exact")
    found = audit(split, known, [exact], AuditSettings(epsilon=1.6, delta=truth.lower / 2, worst_positions=5))
    assert found.state == "violated"


@dataclass(frozen=True, eq=False)
class OneTier:
    """Knows that a document repeats one value of each tier, and uses that in one tier alone; too sure by `factor`."""

    mechanism: od.Channel
    columns: tuple[int, ...]
    name: str
    factor: float = 1.0
    with_context: bool = False

    def beliefs(self, release) -> Iterator[Beliefs]:
        own = self.mechanism.log_columns(release.outputs)
        shift = own.reshape(len(release), 5, -1).copy()
        mine = shift[:, self.columns]
        shift[:, self.columns] += self.factor * (mine.sum(axis=1, keepdims=True) - mine)
        yield Beliefs(np.arange(len(own)), shift.reshape(own.shape), np.zeros(own.shape[1]))


@pytest.fixture(scope="module")
def two_tiers():
    """Three places of far points, whose odds may shift a lot within epsilon, and two of near ones, where not."""
    space = od.Space([[0.0], [10.0], [20.0], [100.0], [100.5], [101.0]])
    channel = od.Channel(space, np.log(np.full((6, 6), 0.08) + 0.52 * np.eye(6)), outputs=space)
    tiers = Tiers(np.arange(6) // 3, names=("far", "near"), scales=(1.0, 1.0), is_public=True)
    rng = np.random.default_rng(8)
    values = np.column_stack(
        [np.repeat(rng.integers(0, 3, (900, 1)), 3, 1), np.repeat(rng.integers(3, 6, (900, 1)), 2, 1)]
    )
    split = Records.from_documents(space, list(values)).split(rng=rng)
    return split, knowledge(channel, tiers, split.fit)


def of_two_tiers(split, known, factor=1.0, delta=0.1, **settings):
    """One attacker for each tier; the exact epsilon of one release is 4.03."""
    far, near = OneTier(known.mechanism, (0, 1, 2), "far"), OneTier(known.mechanism, (3, 4), "near", factor)
    asked = AuditSettings(epsilon=4.5, delta=delta, worst_positions=50, **settings)
    return audit(split, known, [far, near], asked)


@pytest.mark.parametrize("law", ["anchored", "worst"])
def test_any_attacker_that_counts_shows_a_violation(two_tiers, law):
    """The strongest by log score stays within delta in both tiers; another one does not."""
    found = of_two_tiers(*two_tiers, law=law)
    assert found.strongest == "far"
    assert all(part.upper <= 0.1 for part in found.verdict.parts if part.claim.attacker == "far")
    assert found.state == "violated"
    assert sum(found.verdict.accusing) == 4  # two attackers, two tiers


def test_lower_bounds_that_accuse_share_the_level(two_tiers):
    found = of_two_tiers(*two_tiers)
    values = {e.certificate.claim: e.values for e in found.evidence}
    for part, low in zip(found.verdict.parts, found.verdict.lowers, strict=True):
        assert low == min(part.mean, betting_plugin_lower(values[part.claim], 0.05 / 4))
        assert low <= part.lower
        assert part.alpha == 0.05  # what certifies keeps the full level


def test_each_attacker_is_recalibrated_before_it_accuses(two_tiers):
    """The one that is not the strongest is too sure: its own rate accuses nobody, that of its calmer self may."""
    found = of_two_tiers(*two_tiers, factor=1.6)
    assert found.strongest == "far"
    accusing = {p.claim.attacker for p, may in zip(found.verdict.parts, found.verdict.accusing, strict=True) if may}
    assert {name for name in accusing if "near" in name} == {"near, recalibrated"}
    assert sum(found.verdict.accusing) == 4
    assert all(verify(e).holds for e in found.evidence)


def test_an_attacker_without_a_context_term_never_certifies():
    """A prior given the place is better than that of `own` and reads nothing together."""
    rng = np.random.default_rng(0)
    common = np.array([0.6, 0.2, 0.1, 0.05, 0.03, 0.02])
    first = rng.choice(K, size=2000, p=common)
    rest = rng.choice(K, size=(2000, LENGTH - 1), p=common[::-1])
    split = Records.from_documents(SPACE, list(np.column_stack([first, rest]))).split(rng=rng)
    known = knowledge(EM, one_tier(SPACE), split.fit)
    places = LawAttacker(known, fit_place_prior(known, place_weights(known, rng)), "places")
    found = audit(split, known, [places], AuditSettings(epsilon=1.0, delta=0.2, worst_positions=5))
    assert found.row("places").gain > 5 * found.row("places").gain_error  # a better prior, beyond doubt
    assert not found.row("places").learned
    assert found.state == "undecided"
    declared = audit(split, known, [places], AuditSettings(epsilon=1.0, delta=0.2, independent=True))
    assert declared.state == "certified"
    assert {part.claim.attacker for part in declared.verdict.parts} == {"own"}


def test_a_lower_bound_above_delta_is_a_violation_though_nobody_learned():
    """One release alone exceeds a small budget in a third of the pairs: no attacker has to learn anything for that."""
    split = Records.from_documents(SPACE, list(np.random.default_rng(0).integers(0, K, (900, LENGTH)))).split(
        rng=np.random.default_rng(1)
    )
    found = audit(split, knowledge(EM, one_tier(SPACE), split.fit), [], AuditSettings(epsilon=0.4, delta=0.1))
    assert found.state == "violated"
    assert [part.claim.withheld for part in found.verdict.parts] == [NOTHING_LEARNED]
    assert found.verdict.lowers[0] > 0.1
    assert all(verify(e).holds for e in found.evidence)


def test_declared_independence_gives_way_to_an_attacker_that_learned(world):
    split, known, exact = world
    found = audit(split, known, [exact], AuditSettings(epsilon=1.0, delta=0.05, independent=True, worst_positions=5))
    assert found.state == "violated"
    assert any("declared independent, yet attacker exact gains" in note for note in found.warnings)


def test_a_weight_of_one_is_kept_and_a_wrong_one_corrected(world):
    split, known, exact = world
    release = perturb(split.select, EM, known.tiers, np.random.default_rng(0))
    budget = Budget(EM, known.tiers, 1.0)
    assert recalibrated(exact, release, split.select, budget) is exact
    timid = recalibrated(Loud(exact, 0.5), release, split.select, budget)
    assert isinstance(timid, Recalibrated)
    assert timid.weight == pytest.approx(2.0, abs=0.25)
    assert (timid.name, timid.with_context, timid.parts[0].factor) == ("loud, recalibrated", False, 0.5)
    before, after = (scores(who, release, split.select, budget).log_score for who in (Loud(exact, 0.5), timid))
    assert after.mean() < before.mean()


def test_recalibration_keeps_what_the_own_release_excludes():
    space = od.Space([[0.0], [1.0]])
    channel = od.Channel(space, [[0.0, -np.inf], [np.log(0.5), np.log(0.5)]], outputs=space)
    records = Records.from_documents(space, [[1, 0], [1, 1]])
    known = knowledge(channel, one_tier(space), records)
    release = perturb(records, channel, known.tiers, np.random.default_rng(0))
    for block in Recalibrated(channel, Own(known), 3.0).beliefs(release):
        assert (block.shift == channel.log_columns(release.outputs[block.positions])).all()


def test_an_order_dependent_bound_gets_a_random_order_that_only_the_seed_decides():
    """Documents sorted by what they hold: in file order the plug-in bettor certifies a violated claim."""
    values = np.concatenate([np.zeros(600), np.full(100, 1.0)])
    row = TierValues(0, values, 0)
    plugin = AuditSettings(epsilon=1.0, delta=0.1, method="betting_plugin")
    first, again = (ClaimBuilder(plugin, "list", "document").in_order(row).values for _ in range(2))
    other = ClaimBuilder(replace(plugin, seed=1), "list", "document").in_order(row).values
    assert (first == again).all()
    assert not (first == other).all()
    assert sorted(first) == sorted(values)
    betting = ClaimBuilder(replace(plugin, method="betting"), "list", "document").in_order(row)
    assert betting is row
    assert betting_plugin_upper(values, 0.05) < 0.1 < values.mean()
    assert betting_plugin_lower(first, 0.05) <= values.mean() <= betting_plugin_upper(first, 0.05)


def test_bounds_that_cross_are_an_error():
    """The forged order of the outside check: mean .144 against delta .1, with the lower bound above the upper."""
    claim = Claim(epsilon=1.0, delta=0.1, tier="PII", pair_law="anchored", attacker="a", attacker_hash="b",
                  with_context=False, detector="c")  # fmt: skip
    crossed = np.concatenate([np.zeros(400), np.ones(400)])
    with pytest.raises(NoGuarantee, match=r"the lower bound .* lies above the upper bound"):
        certify(crossed, claim, 0.05, "betting_plugin")


def test_bounds_that_cross_by_chance_withhold_the_claim_and_show_the_wider_pair():
    """In a random order a crossing is chance, about one in 2,000: the audit goes on, and that claim decides nothing."""
    crossed = TierValues(0, np.concatenate([np.zeros(400), np.ones(400)]), 0)
    asked = AuditSettings(epsilon=1.0, delta=0.1, success={"*": 0.3}, advantage={"*": 0.1})
    claims = ClaimBuilder(asked, "list", "document")
    low, high = (bound(crossed.values, 0.05) for bound in (betting_plugin_upper, betting_plugin_lower))
    assert low < high
    guesses = (GuessValues(crossed, crossed),)
    seen = Seen(Own(knowledge(EM, one_tier(SPACE), walks(9, 0))), (crossed,), guesses)
    rule = Rule(claims, one_tier(SPACE), Basis((1,), 1), lambda _: None)
    parts = [*rule.rates(1, seen, "anchored", accuses=True), *rule.guesses(seen)]
    verdict = judged(parts[:2], claims).verdict
    assert verdict.state == "undecided"
    assert [part.claim.withheld for part in verdict.parts] == [CROSSED, CROSSED]
    assert [(part.lower, part.upper) for part in verdict.parts] == [(low, 0.5)] * 2  # wide enough for the mean, too
    assert parts[2].claim.withheld == ""  # the gain of equal guesses is the same in every unit
    orderless = ClaimBuilder(replace(asked, method="betting"), "list", "document")
    assert orderless.contradiction(crossed) == ""


def test_only_parts_that_accuse_show_a_violation():
    claims = [
        Claim(epsilon=1.0, delta=0.1, tier="PII", pair_law="anchored", attacker=name, attacker_hash=name,
              with_context=False, detector="c")
        for name in ("a", "b")
    ]  # fmt: skip
    often, never = np.full(300, 0.5), np.zeros(300)
    found = certify_joint([often, never], claims, 0.05, accusing=[False, True])
    assert (found.state, found.lowers[0], found.accusing) == ("undecided", 0.0, (False, True))
    assert certify_joint([often, never], claims, 0.05).state == "violated"


def test_an_advantage_is_after_less_before():
    after, before = (TierValues(1, np.array(v), 3) for v in ([1.0, 0.5, 0.0], [0.0, 0.5, 1.0]))
    found = GuessValues(after, before).advantage
    assert found.values.tolist() == [1.0, 0.5, 0.0]
    assert (found.tier, found.excluded) == (1, 3)


def test_users_and_not_documents_are_counted_under_the_worst_law():
    """30 users of 12 documents each, every user the same secret throughout: the bound must cover the share of users."""
    space = od.Space([[0.0], [1.0]])
    clear = od.Exponential(space, 60.0)
    tiers = one_tier(space)

    @dataclass(frozen=True)
    class Told:
        """Exceeds epsilon exactly where the release shows the first point."""

        name: str = "told"
        with_context: bool = False

        def beliefs(self, release):
            shift = np.zeros((len(release.outputs), 2))
            shift[:, 0] = np.where(release.outputs == 0, 5.0, 0.0)
            yield Beliefs(np.arange(len(shift)), shift, np.zeros(2))

    share, missed = 0.3, 0
    for seed in range(200):
        rng = np.random.default_rng([5, seed])
        kind = (rng.random(30) >= share).astype(np.int64)
        users = np.repeat(np.arange(30), 12)
        records = replace(Records.from_documents(space, [[k] for k in kind[users]]), users=users)
        release = perturb(records, clear, tiers, rng)
        settings = AuditSettings(epsilon=1.0, delta=0.1, seed=seed)
        made = AuditReleases(release, records, release, records, Budget(clear, tiers, 1.0), settings, None)
        values = worst_of_units(Told(), made)[0]
        assert len(values) == 30
        missed += betting_upper(values, 0.05) < share
    assert missed <= 10


def test_guesses_before_a_release_share_a_tie(world):
    split, known, _ = world
    truth = split.certify.take(np.arange(10))
    release = perturb(truth, EM, known.tiers, np.random.default_rng(0))
    flat = replace(known, log_prior=np.zeros(K))
    found = scan(Own(flat), release, truth, Budget(EM, known.tiers, 1.0), np.random.default_rng(0))
    assert found.prior_hit == pytest.approx(np.full(40, 1 / K))
    best = replace(known, log_prior=np.log(np.array([0.5, 0.1, 0.1, 0.1, 0.1, 0.1])))
    found = scan(Own(best), release, truth, Budget(EM, known.tiers, 1.0), np.random.default_rng(0))
    assert (found.prior_hit == (truth.points == 0)).all()


def test_an_audit_reports_guesses_before_alone_and_together(world):
    split, known, exact = world
    found = audit(split, known, [exact], AuditSettings(epsilon=1.0, worst_positions=5))
    (row,) = found.guesses
    assert row.tier == "all"
    assert row.before.mean < row.alone.mean < row.together.mean
    assert row.alone.mean == pytest.approx(found.row("own").tiers[0].top1)
    assert row.together.mean == pytest.approx(found.row("exact").tiers[0].top1)
    assert "No cap was stated: Pr[first guess right] <= " in row.alone.sentence


@pytest.mark.parametrize(("cap", "state"), [(0.999, "certified"), (0.2, "violated")])
def test_a_cap_on_right_guesses_is_part_of_the_verdict(world, cap, state):
    split, known, exact = world
    alone = audit(split, known, [exact], AuditSettings(epsilon=2.5, delta=0.2, worst_positions=5))
    assert alone.state == "certified"
    asked = AuditSettings(epsilon=2.5, delta=0.2, worst_positions=5, success={"all": cap})
    found = audit(split, known, [exact], asked)
    assert found.state == state
    assert {p.claim.attacker for p in found.verdict.parts if p.claim.pair_law == "success"} == {"own", "exact"}


def test_an_advantage_is_certified_in_the_same_verdict(world):
    split, known, exact = world
    asked = AuditSettings(epsilon=2.5, delta=0.2, worst_positions=5, advantage={"*": 0.01})
    found = audit(split, known, [exact], asked)
    part = next(p for p in found.verdict.parts if p.claim.pair_law == "advantage" and p.claim.attacker == "exact")
    row = found.guesses[0]
    assert found.state == "violated"
    assert part.claim.stated(part.mean) == pytest.approx(row.together.mean - row.before.mean, abs=0.02)


def test_tiers_whose_names_differ_in_one_sign_keep_evidence_of_their_own(tmp_path):
    from oddshift.app.run_folder import read_run, write_run

    tiers = Tiers(np.arange(K) // 3, names=("rate %", "rate $"), scales=(1.0, 1.0), is_public=True)
    split = walks(600, 3).split(rng=np.random.default_rng(1))
    known = knowledge(EM, tiers, split.fit)
    settings = AuditSettings(epsilon=1.0, delta=0.2, worst_positions=5, success={"rate %": 0.9})
    found = audit(split, known, [], settings)
    write_run(tmp_path, found)
    assert len(list((tmp_path / "evidence").glob("*.npz"))) == len(found.evidence)
    assert read_run(tmp_path).settings == settings
