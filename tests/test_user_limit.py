"""The budget of users: stated in a policy, and kept with refusals, masks, or more noise."""

from dataclasses import replace

import pytest

from oddshift.app.configuration import parse_config
from oddshift.base.errors import InvalidInput
from oddshift.mechanisms import Exponential
from oddshift.protect import Ledger, Sanitizer, UserLimit, protect, release_work
from oddshift.protect.integrations import presidio_operator
from oddshift.protect.ledger.store import LEDGER
from oddshift.protect.ledger.terms import NOISIER, ClaimTerms, KeyBatch
from oddshift.protect.policies import load_policy, make_policy, noisier_policy, save_policy
from oddshift.protect.release import ReleasePolicy
from policies import people_policy, table_policy
from test_repeated_release import CORPUS, MASKING, POLICY, released, settings, write

NOISE = UserLimit(budget=0.35, past="noise")
TERMS = ClaimTerms(policy="p", epsilon=0.1, limit=NOISE)


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / LEDGER)


def claim(ledger, ids, users, terms=TERMS):
    keys = ledger.keys()
    return ledger.claim([KeyBatch(keys.ids(list(ids), "id"), keys.users(users, "user"))], terms, is_final=True)


def limited(policy, **limit):
    """A policy that limits what users spend."""
    return replace(policy, terms=replace(policy.terms, user_limit=UserLimit(**limit)))


def test_records_beyond_the_budget_are_drawn_with_more_noise_as_long_as_that_fits(ledger):
    found = claim(ledger, range(9), ["u"] * 9)
    assert found.noisier.tolist() == [4, 5, 6, 7]
    assert found.past.tolist() == [8, 9]
    assert found.records == 7
    totals = ledger.totals()
    assert totals.user_most_spent == pytest.approx(0.35)
    assert (totals.users, totals.user_releases) == (1, 7)


def test_what_was_spent_with_more_noise_is_remembered(ledger):
    claim(ledger, range(5), ["u"] * 5)
    later = claim(ledger, range(10, 14), ["u", "u", "u", "v"])
    assert later.noisier.tolist() == [1, 2]
    assert later.past.tolist() == [3]


def test_rows_without_a_name_are_counted_too(ledger):
    keys = ledger.keys()
    batch = KeyBatch(keys.rows([list(range(6))]), keys.users(["u"] * 6, "user"))
    found = ledger.claim([batch], replace(TERMS, is_named=False), is_final=True)
    assert found.noisier.tolist() == [4, 5, 6]
    assert found.past.tolist() == []


def test_a_copy_of_a_noisier_record_spends_nothing(ledger):
    found = claim(ledger, [1, 2, 3, 4, 4], ["u"] * 5)
    assert found.noisier.tolist() == [4]
    assert found.copies.tolist() == [[5, 4]]
    assert ledger.totals().user_most_spent == pytest.approx(0.3125)


@pytest.mark.parametrize("policy", [people_policy(2.0), table_policy(2.0), POLICY])
def test_a_noisier_policy_has_a_part_of_the_epsilon_and_no_certificate(policy):
    weaker = noisier_policy(policy, NOISIER)
    mechanism = weaker.mechanism()
    assert mechanism.claimed_epsilon == pytest.approx(policy.mechanism().claimed_epsilon / NOISIER)
    assert mechanism.claimed_epsilon == weaker.terms.mechanism.claimed_epsilon
    assert not weaker.terms.certificate.holds
    assert weaker.sha256 != policy.sha256


def test_only_the_rows_beyond_the_budget_get_more_noise(tmp_path, monkeypatch):
    """At an enormous ε nothing changes, so a row that changes was drawn by the noisier mechanism."""
    far = make_policy(MASKING, Exponential(CORPUS.space, 1e6), CORPUS.tiers)
    monkeypatch.setattr(release_work, "noisier_policy", lambda policy, factor: noisier_policy(policy, 1e12))
    texts = CORPUS.texts[:6]
    source = write(tmp_path / "a.csv", texts, ["u", "v", "u", "u", "v", "w"])
    plain = write(tmp_path / "b.csv", texts, ["u", "v", "u", "u", "v", "w"])
    whole = tmp_path / "whole"
    whole.mkdir()
    protect(plain, tmp_path / "plain.csv", far, Ledger(whole / LEDGER), settings())
    limit = UserLimit(budget=1e6 * (1 + 2 / NOISIER), past="noise")
    done = protect(source, tmp_path / "o.csv", far, Ledger(tmp_path / LEDGER), settings(user="id", limit=limit))
    assert (done.noisier, done.past_budget) == (3, 0)
    before, after = released(tmp_path / "plain.csv"), released(tmp_path / "o.csv")
    changed = [row for row, (one, two) in enumerate(zip(before, after, strict=True)) if one != two]
    assert changed == [2, 3, 4]
    assert any("times the noise, which no certificate covers" in note for note in done.notes)


class TestLimitOfAPolicy:
    """What a policy says holds whoever applies it."""

    @pytest.fixture
    def home(self, tmp_path):
        save_policy(tmp_path, limited(POLICY, budget=0.6, past="mask"))
        write(tmp_path / "a.csv", CORPUS.texts[:4], ["u", "v", "u", "u"])
        return tmp_path

    def release(self, home, **changes):
        policy = load_policy(home)
        return protect(home / "a.csv", home / "o.csv", policy, Ledger.beside(home), settings(**changes))

    def test_it_is_stored_and_names_another_policy(self, home):
        policy = load_policy(home)
        assert policy.terms.user_limit == UserLimit(budget=0.6, past="mask")
        assert policy.sha256 != POLICY.sha256

    def test_it_needs_the_column_of_users(self, home):
        with pytest.raises(InvalidInput, match="expected the column that names them"):
            self.release(home)
        assert not (home / "o.csv").exists()

    def test_it_is_kept_without_being_asked_for(self, home):
        assert self.release(home, user="id").past_budget == 1
        assert released(home / "o.csv").count("") == 1

    def test_it_can_be_made_smaller_but_not_larger(self, home):
        with pytest.raises(InvalidInput, match=r"a budget of 5 for users, expected at most the policy's 0\.6"):
            self.release(home, user="id", limit=UserLimit(budget=5.0))
        done = self.release(home, user="id", limit=UserLimit(budget=0.3, past="mask"))
        assert done.past_budget == 2

    def test_the_user_column_of_the_policy_serves(self, home):
        policy = load_policy(home)
        data = replace(policy.terms.data, user="id")
        named = replace(policy, terms=replace(policy.terms, data=data))
        done = protect(home / "a.csv", home / "o.csv", named, Ledger.beside(home), settings())
        assert done.past_budget == 1


TEXT = '[data]\nkind = "people"\ndocuments = 30\n[mechanism]\nepsilon = 2.0\n[audit]\ndelta = 0.05\n'


class TestConfiguration:
    """The table [users] of a configuration."""

    def test_it_is_a_limit(self):
        found = parse_config(TEXT + '[users]\nbudget = 12.5\npast = "noise"\n', "a.toml")
        assert found.users == UserLimit(budget=12.5, past="noise")

    def test_without_it_nothing_changes(self):
        plain = parse_config(TEXT, "a.toml")
        assert plain.users is None
        assert parse_config(TEXT + "[users]\nbudget = 1.0\n", "a.toml").fingerprint != plain.fingerprint

    @pytest.mark.parametrize(
        ("table", "message"),
        [
            ('[users]\npast = "mask"\n', "missing key users.budget"),
            ("[users]\nbudget = -1.0\n", r"users\.budget=-1\.0, expected > 0 for the budget of a user"),
            ('[users]\nbudget = 1.0\npast = "ignore"\n', "expected one of refuse, mask, drop, noise"),
            ("[users]\nbudgets = 1.0\n", "did you mean budget"),
        ],
    )
    def test_what_is_wrong_is_one_line(self, table, message):
        with pytest.raises(InvalidInput, match=message):
            parse_config(TEXT + table, "a.toml")


def test_an_adaptation_puts_the_limit_into_its_policy(tmp_path, monkeypatch):
    from oddshift.app import configured_runs
    from oddshift.app.results import AdaptRun
    from reports import made_up_adaptation

    def answer(run, settings):
        return AdaptRun(made_up_adaptation(), run._release_policy(POLICY), "", run.configuration)

    monkeypatch.setattr(configured_runs.Run, "adapt", answer)
    configured_runs.run_adapt(TEXT + "[users]\nbudget = 3.0\n", tmp_path / "run")
    assert load_policy(tmp_path / "run").terms.user_limit == UserLimit(budget=3.0)


def test_what_a_limit_cannot_be():
    with pytest.raises(InvalidInput, match="expected one of refuse, mask, drop, noise"):
        UserLimit(budget=1.0, past="more")


SMALL = limited(POLICY, budget=2.5 * POLICY.terms.mechanism.claimed_epsilon, past="mask")


def test_a_sanitizer_counts_users_and_refuses_what_exceeds_their_budget(ledger):
    sanitizer = Sanitizer(SMALL, ledger=ledger)
    assert len(sanitizer.texts(CORPUS.texts[:3], users=["u", "v", "u"])) == 3
    with pytest.raises(InvalidInput, match=r"1 of 2 records is beyond the budget .*: row 2"):
        sanitizer.texts(CORPUS.texts[3:5], users=["v", "u"])
    totals = ledger.totals()
    assert (totals.records, totals.users, totals.user_releases) == (3, 2, 3)
    assert len(sanitizer.texts(CORPUS.texts[3:4], users=["v"])) == 1


def test_files_and_memory_share_the_budget_of_users(tmp_path, ledger):
    source = tmp_path / "in.csv"
    source.write_text("id,who,text\n" + "".join(f'{i},u,"{t}"\n' for i, t in enumerate(CORPUS.texts[:2])))
    protect(source, tmp_path / "out.csv", SMALL, ledger, settings(id="id", user="who"))
    with pytest.raises(InvalidInput, match="beyond the budget"):
        Sanitizer(SMALL, ledger=ledger).texts(CORPUS.texts[5:6], ids=[9], users=["u"])


def test_rows_and_columns_count_users_too(tmp_path):
    policy = limited(table_policy(), budget=1e-3)
    sanitizer = Sanitizer(policy, ledger=Ledger(tmp_path / LEDGER))
    row = {name: [1.0] for name in policy.codec.released}
    with pytest.raises(InvalidInput, match="1 of 1 records is beyond the budget"):
        sanitizer.columns(row, users=["u"])


UNCOUNTED = {
    "apply": lambda ledger: ReleasePolicy(SMALL).apply(CORPUS.texts[:1]),
    "no users": lambda ledger: Sanitizer(SMALL, ledger=ledger).texts(CORPUS.texts[:1]),
    "no ledger": lambda ledger: Sanitizer(SMALL).texts(CORPUS.texts[:1], users=["u"]),
    "presidio": lambda ledger: presidio_operator.OddshiftOperator().validate({"sanitizer": Sanitizer(SMALL)}),
}


@pytest.mark.parametrize("use", list(UNCOUNTED))
def test_what_cannot_count_users_refuses_a_policy_that_limits_them(ledger, use):
    with pytest.raises(InvalidInput, match="the policy limits the budget of users"):
        UNCOUNTED[use](ledger)


def test_users_without_a_ledger_or_of_another_length_are_refused(ledger):
    with pytest.raises(InvalidInput, match="users are counted in a ledger"):
        Sanitizer(POLICY).texts(CORPUS.texts[:1], users=["u"])
    with pytest.raises(InvalidInput, match="1 users for 2 records"):
        Sanitizer(POLICY, ledger=ledger).texts(CORPUS.texts[:2], users=["u"])
