"""Bounds: what n independent values in [0, 1] say about their mean, and what may be said when there are many.

Binomial and mean bounds, e-processes, planners, clustering; formulas in each file.
"""

from oddshift.bounds.betting import (
    BETS,
    betting_log_e,
    betting_lower,
    betting_plugin_lower,
    betting_plugin_pvalue,
    betting_plugin_upper,
    betting_pvalue,
    betting_upper,
)
from oddshift.bounds.binomial import (
    clopper_pearson_lower,
    clopper_pearson_pvalue,
    clopper_pearson_upper,
    robbins_log_e,
    robbins_lower,
    robbins_pvalue,
    robbins_upper,
)
from oddshift.bounds.checks import Clustering, design_effect
from oddshift.bounds.means import (
    failure_exponent,
    hoeffding_bentkus_lower,
    hoeffding_bentkus_pvalue,
    hoeffding_bentkus_upper,
    hoeffding_lower,
    hoeffding_pvalue,
    hoeffding_upper,
    maurer_pontil_lower,
    maurer_pontil_pvalue,
    maurer_pontil_upper,
)
from oddshift.bounds.methods import (
    METHODS,
    ONE_SHOT,
    STATES,
    Method,
    decision,
    spend,
)
from oddshift.bounds.planners import plan_clopper_pearson, zero_failures
from oddshift.bounds.streams import ShiftStream, conformal_ranks

__all__ = [
    "BETS",
    "METHODS",
    "ONE_SHOT",
    "STATES",
    "Clustering",
    "Method",
    "ShiftStream",
    "betting_log_e",
    "betting_lower",
    "betting_plugin_lower",
    "betting_plugin_pvalue",
    "betting_plugin_upper",
    "betting_pvalue",
    "betting_upper",
    "clopper_pearson_lower",
    "clopper_pearson_pvalue",
    "clopper_pearson_upper",
    "conformal_ranks",
    "decision",
    "design_effect",
    "failure_exponent",
    "hoeffding_bentkus_lower",
    "hoeffding_bentkus_pvalue",
    "hoeffding_bentkus_upper",
    "hoeffding_lower",
    "hoeffding_pvalue",
    "hoeffding_upper",
    "maurer_pontil_lower",
    "maurer_pontil_pvalue",
    "maurer_pontil_upper",
    "plan_clopper_pearson",
    "robbins_log_e",
    "robbins_lower",
    "robbins_pvalue",
    "robbins_upper",
    "spend",
    "zero_failures",
]
