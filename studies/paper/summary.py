"""The opening of the page: how much of the paper's data stands behind it, and twenty lines for an outsider."""

from __future__ import annotations

from studies.paper.corpus_cells import FULL_DOCUMENTS
from studies.paper.fronts import RELATIVE, fronts, fronts_said
from studies.paper.own_tables import matched_range, own_tables, wdbc_reductions
from studies.paper.page_blocks import Lines, Section
from studies.paper.paper_claims import NOT_RUN, Results
from studies.paper.paper_numbers import CORPORA, paper_text
from studies.paper.sound_mode import largest_sound

PAPER_DOCUMENTS = {"ag_news": 127_600, "imdb": 50_000, "amazon": 34_686_770}
"""Documents of the corpora that the paper names; it does not say how many of the last two it used."""


def summary_section(results: Results) -> Section:
    """What an outsider should know before the table of claims."""
    lines = [*_theory(results), *_estimate(results), *_methods(results), *_rest(results)]
    return Section("summary", "In twenty lines", [size_said(results), Lines(lines)])


def size_said(results: Results) -> str:
    """Documents behind the cells, next to what there is here and what the paper names."""
    parts = []
    for corpus, name in CORPORA.items():
        cells = [c for c in results.cells["table-violations"].values() if c.settings.get("corpus") == corpus]
        sizes = sorted({int(c.settings["documents"]) for c in cells if c.settings["kind"] != "sound"})
        used = " or ".join(f"{size:,}" for size in sizes) or NOT_RUN
        there, named = FULL_DOCUMENTS[corpus], PAPER_DOCUMENTS[corpus]
        parts.append(f"{name} {used} of {there:,} that are here, of {named:,} in the corpus that the paper names")
    return (
        f"Read the numbers for what they are: a small reproduction. Documents behind a cell: {'; '.join(parts)}. "
        f"Losses move with the vocabulary, and so with that size.{_whole_losses(results)}"
    )


def _whole_losses(results: Results) -> str:
    """What EM loses at ε = 2.5 with all documents, next to those of the networks, where both were run."""
    said = []
    for corpus, name in CORPORA.items():
        found = [results.values("utility", key) for key in (f"{corpus}-all", corpus)]
        at = [[r["loss"] for r in v["rows"] if (r["epsilon"], r["method"]) == (2.5, "EM")] for v in found if v]
        if len(at) == 2:
            said.append(f"{at[0][0]:.3f} for {at[1][0]:.3f} on {name}")
    return f" With all that are here EM loses more at ε = 2.5: {', '.join(said)}." if said else ""


def _theory(results: Results) -> list[str]:
    toy, merged = (results.values(*key) for key in (("toy", "exact"), ("propositions", "post-processing")))
    bounds = results.values("failure-bounds", "failure-bounds")
    low, high = bounds["by_proposition_range"] if bounds else (0.0, 0.0)
    return [
        "The paper measures posterior leakage (mPL): how far all releases of a document together move the odds between "
        "two secrets, for each unit of distance. A mechanism of budget ε promises at most ε for a release alone.",
        "Its core is right: for one release bounded mPL is metric privacy, and correlated secrets leak more together"
        + (f" (its example: {toy['single']:.3f} alone, {toy['joint']:.3f} together, exactly)." if toy else "."),
        "Post-processing keeps the largest mPL, as proved. It does not keep the share of violations, which the paper "
        "audits" + (f": {merged['rate_before']:.1%} become {merged['rate_after']:.1%} by merging." if merged else "."),
        "Independent secrets leak what each leaks, if every release has fresh noise; the proof writes one shared Z.",
        "Certificates down to 10^-1,000,000 are void: triples share a few hundred releases, and the printed exponents "
        + (f"come from a slip (by the proposition {low:,.0f} to {high:,.0f}, " if bounds else "(")
        + "with releases as units none says anything).",
        "The thresholds 1.05·δ are chosen on the data that they are claimed for, so that they certify nothing.",
    ]


def _estimate(results: Results) -> list[str]:
    means = {
        what: [results.mean((*place, "EM"), "one", what) or 0.0 for place in results.places] for what in ("rate", "own")
    }
    fitted = [results.mean((*place, "EM"), "fitted", "rate") or 0.0 for place in results.places]
    spans = {what: f"{min(v):.1f} to {max(v):.1f} %" if v else NOT_RUN for what, v in means.items()}
    curves = [
        point[1]
        for cell in results.cells["table-violations"].values()
        for point in cell.values.get("temperature_curve", ())
    ]
    return [
        "Leakage is estimated by a network that reconstructs each secret by least squares, and a softmax of "
        "temperature T around the guess. T is not stated"
        + (f"; from T = .2 to 8 a ratio goes from {max(curves):.0%} to {min(curves):.1%}." if curves else "."),
        f"At T = 1 our networks exceed ε under EM in {spans['rate']} of the triples, as the printed table does.",
        f"So does a control that cannot violate anything, since it reads one release exactly: {spans['own']}. The "
        "ratio measures how sharp a reconstruction is.",
        "At the T that predicts best on held-out documents, the rule of the paper's own reference, "
        + (f"at most {max(fitted):.2f} % are left." if fitted else f"the ratio was {NOT_RUN}."),
        f"Our strongest attacker, with the exact likelihood of a release, finds {largest_sound(results, 'EM')}.",
    ]


def _methods(results: Results) -> list[str]:
    counted = own_tables()
    gaps, own = (results.gaps("EM", "AmPL", what) for what in ("rate", "own"))
    return [
        f"The printed table has AmPL below EM in {counted.lower} of 27 settings, within one standard deviation in "
        f"{counted.within_one_sd}."
        + (f" Ours in {sum(g > 0 for g in gaps)} of {len(gaps)}; the control falls in as many as "
           f"{sum(g > 0 for g in own)}." if gaps else ""),
        *_front(results),
        f"AmPL-U must be EM, since λ_1 = 0 leaves every scale at 1; the printed one lies {counted.u_below_em:.1f} "
        "points below.",
    ]  # fmt: skip


def _front(results: Results) -> list[str]:
    """What any weights could reach, and what our own repair makes of it."""
    found = fronts(results)
    return [f"Whatever its weights: {fronts_said(found, RELATIVE)}."] if found else []


def _rest(results: Results) -> list[str]:
    stated = paper_text("utility_text")["AG_transformer_2.5_EM"]["no_RMP"]
    appendix = paper_text("utility_text")["core_methods"]["AG News"]["no_RMP"]
    low, high = matched_range()
    return [
        "Remapping can halve a loss of .22 as stated, where it leaves a handful of words to release; then utility is "
        "not kept.",
        f"Two losses are stated for EM on AG News ({stated}, and {appendix[0]}-{appendix[1]}), and two mean leakages "
        f"(.33, and {low:.2f}-{high:.2f}).",
        f"On WDBC every record is released alone, so that nothing can exceed ε and {wdbc_reductions()[0]:.1f} % fewer "
        "violations are fewer of none.",
        "A placeholder tells nothing by itself, and the secret behind it leaks from what is correlated with it.",
        "Sound are: the notion, its theorem for one release, post-processing of the largest leakage, and the "
        "example of two secrets. Not sound are the certificates, the audit by squared error, and what is concluded "
        "from ratios.",
        "What cannot be told says, in the table, what would settle it.",
    ]
