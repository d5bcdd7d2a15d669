"""The ledger against a model: claims, ends, crashes and repeats in any order give what plain dictionaries give."""

import shutil
import tempfile
from pathlib import Path

import pytest
from fuzz_cases import fuzz_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from oddshift.base.errors import InvalidInput
from oddshift.protect import Ledger, UserLimit
from oddshift.protect.ledger import terms as claim_terms
from oddshift.protect.ledger.releases import StagedFolder
from oddshift.protect.ledger.store import LEDGER
from oddshift.protect.ledger.terms import ClaimTerms, KeyBatch

HERE = StagedFolder("/nowhere/folder", 1, 2)
BUDGET = 3.0
RECORDS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2)), min_size=1, max_size=6)


class LedgerMachine(RuleBasedStateMachine):
    """The model: the releases that hold each record, what each release spent for each user, and their states.

    `again` counts, for each release, its records that others held when it claimed them.
    """

    def __init__(self):
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        self.folder = Path(tempfile.mkdtemp())
        self.ledger = Ledger(self.folder / LEDGER)
        self.holders: dict[int, set[int]] = {}
        self.spent: dict[int, dict[int, int]] = {}
        self.state: dict[int, str] = {}
        self.again: dict[int, int] = {}
        self.is_first_withdrawn = False

    def teardown(self):
        self.patch.undo()
        shutil.rmtree(self.folder)

    def expected(self, records, may_repeat, may_take_over):
        """What a claim must find: refused rows, copies, rows past the budget, and what it changes."""
        refused, copies, past, gone, new, added = [], [], [], set(), {}, {}
        for row, (record, user) in enumerate(records, 1):
            holders = self.holders.get(record, set())
            if may_take_over:
                holders = {one for one in holders if self.state[one] != "crashed"}
            if record in new:
                copies.append([row, new[record]])
            elif record in gone:
                past.append(row)
            elif holders and not may_repeat:
                refused.append(row)
            elif sum(self.spent.get(user, {}).values()) + added.get(user, 0) + 1 > BUDGET:
                past.append(row)
                gone.add(record)
            else:
                new[record] = row
                added[user] = added.get(user, 0) + 1
        return refused, copies, past, new, added

    @rule(records=RECORDS, may_repeat=st.booleans(), may_take_over=st.booleans(), at_once=st.integers(1, 7))
    def claim(self, records, may_repeat, may_take_over, at_once):
        self.patch.setattr(claim_terms, "AT_ONCE", at_once)
        limit = UserLimit(budget=BUDGET, past="mask")
        terms = ClaimTerms(policy="p", epsilon=1.0, may_repeat=may_repeat, may_take_over=may_take_over, limit=limit)
        keys = self.ledger.keys()
        batch = KeyBatch(
            keys.ids([record for record, _ in records], "id"), keys.users([user for _, user in records], "user")
        )
        refused, copies, past, new, added = self.expected(records, may_repeat, may_take_over)
        if refused:
            with pytest.raises(InvalidInput, match=f"{len(refused)} of {len(records)} records? ") as caught:
                self.ledger.claim([batch], terms, HERE)
            assert str(caught.value).endswith(f" {', '.join(map(str, refused))}")
            return
        found = self.ledger.claim([batch], terms, HERE)
        assert found.copies.tolist() == copies
        assert found.past.tolist() == past
        assert found.records == len(new)
        self.state[found.release] = "claimed"
        self.again[found.release] = 0
        for record in new:
            held = self.holders.setdefault(record, set())
            if may_take_over:
                self.take_over(held)
            self.again[found.release] += bool(held)
            held.add(found.release)
        for user, count in added.items():
            self.spent.setdefault(user, {})[found.release] = count

    def take_over(self, held):
        """The releases that died hold a record no more; all but its only holder had released it again."""
        dead = {one for one in held if self.state[one] == "crashed"}
        more = len(dead) if held - dead else len(dead) - 1
        held -= dead
        for one in dead:
            self.again[one] -= more > 0
            more -= 1

    def pick(self, number, *states):
        known = sorted(release for release, state in self.state.items() if state in states)
        return known[number % len(known)] if known else None

    @rule(number=st.integers(0, 9))
    def publish(self, number):
        release = self.pick(number, "claimed")
        if release is not None:
            self.ledger.publishing(release)
            self.state[release] = "publishing"

    @rule(number=st.integers(0, 9))
    def finish(self, number):
        release = self.pick(number, "claimed", "publishing")
        if release is not None:
            self.ledger.finish(release)
            self.state[release] = "finished"

    @rule(number=st.integers(0, 9))
    def abandon(self, number):
        release = self.pick(number, "claimed", "publishing")
        if release is not None:
            self.ledger.abandon(release)
            self.state[release] = "abandoned"
            held = [holders for holders in self.holders.values() if release in holders]
            alone = sum(holders == {release} for holders in held)
            self.is_first_withdrawn |= len(held) - alone != self.again.pop(release)
            for holders in held:
                holders.discard(release)
            for spent in self.spent.values():
                spent.pop(release, None)

    @rule(number=st.integers(0, 9), is_visible=st.booleans())
    def die(self, number, is_visible):
        release = self.pick(number, "claimed", "publishing")
        if release is not None:
            self.ledger.settle(release, lambda: is_visible)
            is_shown = is_visible and self.state[release] == "publishing"
            self.state[release] = "finished" if is_shown else "crashed"

    @invariant()
    def totals_agree(self):
        if not self.ledger.exists:
            return
        totals = self.ledger.totals()
        assert totals.records + totals.repeated == sum(map(len, self.holders.values()))
        assert totals.repeated == sum(self.again.values())
        if not self.is_first_withdrawn:
            assert totals.records == sum(map(bool, self.holders.values()))
        sums = [sum(spent.values()) for spent in self.spent.values() if spent]
        assert totals.users == len(sums)
        assert totals.user_most_spent == max(sums, default=0) <= BUDGET
        assert sum(totals.releases.values()) == len(self.state)


TestLedgerMachine = LedgerMachine.TestCase
TestLedgerMachine.settings = fuzz_settings(30, stateful_step_count=20)
