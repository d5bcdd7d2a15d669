"""Witnesses: lower bounds on leakage that trust no attacker, only counts on fresh releases.

For any event E over the joint release and values a, b of X_l: ln(P(E|a)/P(E|b)) ≤ d(a,b) · sup mPL.
"""

from oddshift.evidence.witness.context_game import (
    LARGEST_STAKE,
    ContextWitness,
    GuessGroup,
    context_guess_game,
    context_log_e,
    context_lower,
    context_witness,
    own_sups,
)
from oddshift.evidence.witness.games import (
    WitnessPlan,
    group_distance,
    group_distances,
    guess_game,
    guess_power,
    hockey_stick,
    plan_guess_game,
    pooled_log_e,
    pooled_lower,
    two_arm,
)
from oddshift.evidence.witness.importance import weighted_arms
from oddshift.evidence.witness.mdp import ACCUSING, SearchPlan, SearchSettings, plan_mdp, witness_bits, witness_mdp
from oddshift.evidence.witness.pooled import pair_up, pooled_then_test, rounded_up
from oddshift.evidence.witness.selection import Rule, best_threshold, count_events, frequency_score, select_then_test
from oddshift.evidence.witness.shown import GAMES, AnyWitness, Witness, recheck, recompute, witness_of

__all__ = [
    "ACCUSING",
    "GAMES",
    "LARGEST_STAKE",
    "AnyWitness",
    "ContextWitness",
    "GuessGroup",
    "Rule",
    "SearchPlan",
    "SearchSettings",
    "Witness",
    "WitnessPlan",
    "best_threshold",
    "context_guess_game",
    "context_log_e",
    "context_lower",
    "context_witness",
    "count_events",
    "frequency_score",
    "group_distance",
    "group_distances",
    "guess_game",
    "guess_power",
    "hockey_stick",
    "own_sups",
    "pair_up",
    "plan_guess_game",
    "plan_mdp",
    "pooled_log_e",
    "pooled_lower",
    "pooled_then_test",
    "recheck",
    "recompute",
    "rounded_up",
    "select_then_test",
    "two_arm",
    "weighted_arms",
    "witness_bits",
    "witness_mdp",
    "witness_of",
]
