"""Witnesses: lower bounds on leakage that trust no attacker, only counts on fresh releases.

For any event E over the joint release and values a, b of X_l: ln(P(E|a)/P(E|b)) ≤ d(a,b) · sup mPL.
"""

from oddshift.evidence.witness.context_game import (
    LARGEST_STAKE,
    ContextWitness,
    GuessGroup,
    context_log_e,
    context_lower,
    context_witness,
)
from oddshift.evidence.witness.games import (
    GAMES,
    AnyWitness,
    Witness,
    guess_game,
    recheck,
    recompute,
    two_arm,
    witness_of,
)
from oddshift.evidence.witness.mdp import ACCUSING, SearchSettings, witness_bits, witness_mdp

__all__ = [
    "ACCUSING",
    "GAMES",
    "LARGEST_STAKE",
    "AnyWitness",
    "ContextWitness",
    "GuessGroup",
    "SearchSettings",
    "Witness",
    "context_log_e",
    "context_lower",
    "context_witness",
    "guess_game",
    "recheck",
    "recompute",
    "two_arm",
    "witness_bits",
    "witness_mdp",
    "witness_of",
]
