"""Claims about certificates, propositions, lemmas, and what the paper states without a number."""

from __future__ import annotations

from studies.paper.paper_claims import FAILS, HOLDS, NOT_RUN, UNKNOWN, ClaimOf, PaperClaim, Results

STATED = frozenset({"masking", "repeated-release", "tiers", "hidden-markov"})
"""What stands in the paper without a proof."""


def _statement(key: str, says: str, numbers: str) -> ClaimOf:
    """A proposition or statement, told by its cell; `numbers` is filled with the cell's values."""

    def claim(results: Results) -> PaperClaim:
        found = results.values("propositions", key)
        return PaperClaim(
            says=says,
            paper="stated" if key in STATED else "proved",
            recomputed=NOT_RUN if found is None else numbers.format(**found),
            verdict=UNKNOWN if found is None else HOLDS if found["holds"] else FAILS,
            used=UNKNOWN if found is None else HOLDS if found.get("used", found["holds"]) else FAILS,
            reason=NOT_RUN if found is None else str(found["says"]),
            files=results.files("propositions", key),
        )

    return claim


def failure(results: Results) -> PaperClaim:
    """Failure probabilities below 10^-1,000,000."""
    found = results.values("failure-bounds", "failure-bounds")
    shown = NOT_RUN
    if found is not None:
        low, high = found["by_proposition_range"]
        shown = f"k = {low:,.0f} to {high:,.0f} by the proposition; the slip explains {found['slip_explains']} of 27"
    return PaperClaim(
        says="failure probabilities down to 10^-1,000,000",
        paper="k up to 1.33·10^6",
        recomputed=shown,
        sound=NOT_RUN
        if found is None
        else f"observations as units: a bound in {found['observations_say_something']} of 27 cells",
        verdict=UNKNOWN if found is None else FAILS if found["by_proposition_range"][1] < 1e6 else HOLDS,
        reason="The printed k take a gap of .95·p where δ = 1.05·p leaves .05·p; and all pairs of 512 candidates share "
        "a few hundred observations.",
        files=results.files("failure-bounds"),
    )


def thresholds(results: Results) -> PaperClaim:
    """δ~ = 1.05·δ*."""
    found = results.values("delta-thresholds", "delta-thresholds")
    return PaperClaim(
        says="achievable thresholds are 1.05 times the measured ratios",
        paper="27 cells",
        recomputed=NOT_RUN if found is None else f"{found['agree']} of 27 agree",
        verdict=UNKNOWN if found is None else HOLDS if found["agree"] == 27 else FAILS,
        used=UNKNOWN if found is None else FAILS,
        reason="They agree; chosen on the data that they are claimed for, they certify nothing.",
        files=results.files("delta-thresholds"),
    )


def convexity(results: Results) -> PaperClaim:
    """The commented-out counterexample."""
    found = results.values("non-convexity", "non-convexity")
    return PaperClaim(
        says="the utility loss is not convex in the scale (commented out)",
        paper="g''(.1) > 0, g''(.5) < 0",
        recomputed=NOT_RUN
        if found is None
        else f"its formula gives {found['printed_formula']['0.1']:.4f} at .1, the function "
        f"{found['commented']['0.1']:.3f}; under the paper's mechanism that example is "
        f"{'convex' if found['mechanism_is_convex'] else 'not convex'}, and another has its inflection at "
        f"{found['inflection']:.4f}",
        verdict=UNKNOWN if found is None else HOLDS if min(found["equally_far"].values()) < 0 else FAILS,
        reason="The conclusion is right and its proof is not: the printed derivative is wrong and the weights are not "
        "those of the mechanism.",
        files=results.files("non-convexity"),
    )


STATEMENT_CLAIMS: tuple[ClaimOf, ...] = (
    failure,
    thresholds,
    convexity,
    _statement("single-release", "one release: bounded mPL is mDP", "largest gap {largest_gap:.1e}"),
    _statement(
        "independent-secrets",
        "independent secrets leak what each leaks",
        "shared Z excludes {shared_z_excluded_pairs} of 4",
    ),
    _statement(
        "post-processing", "post-processing keeps bounded mPL", "rate {rate_before:.1%} → {rate_after:.1%} by merging"
    ),
    _statement(
        "concentration",
        "the sampled rate is concentrated",
        "errs in {error:.0%} of layouts, claims {claimed_error:.0e}",
    ),
    _statement(
        "faithful-audit", "the audit is asymptotically faithful", "limit {limit_at_t_1:.3f} for {exact:.3f} on the toy"
    ),
    _statement("cross-entropy", "lemma: cross-entropy is entropy plus KL", "largest gap {largest_gap:.1e}"),
    _statement("lipschitz", "lemma: mPL is Lipschitz in the posterior", "at most {largest_share:.2f} of the bound"),
    _statement(
        "masking", "a placeholder leaks nothing", "{with_a_correlated_release:.3f} next to a correlated release"
    ),
    _statement("repeated-release", "no composition theorem is given", "{once:.3f} once, {twice:.3f} twice"),
    _statement(
        "tiers", "level l is protected at α_l·ε", "{inside_levels:.2f} inside levels, {all_pairs:.2f} over all pairs"
    ),
    _statement(
        "hidden-markov",
        "a hidden Markov model with transitions count(w_i, w_j)/count(w_i) decodes the sequence (commented out)",
        "its rows add up to {smallest_row:.2f} to {largest_row:.2f}; leakage {printed:.3f} under it, {exact:.3f} "
        "exactly",
    ),
)
"""Certificates first, then every proposition, lemma and statement."""
