"""What chosen scales are compared with: plain EM, one scale of equal utility and, for secret tiers, the unsafe choice.

Every choice is measured by the attacker that certified, on the same certify documents, with the exact ε of one release.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

from oddshift.adapt.certification import Trial
from oddshift.adapt.evaluation import Experiment, Measuring, Reader
from oddshift.adapt.frontier import equal_utility
from oddshift.adapt.goals import SCAN_LIMIT, known_epsilon
from oddshift.adapt.result import Compared, Scales
from oddshift.attackers.repair import is_repaired
from oddshift.base.errors import NoGuarantee
from oddshift.leakage.mpl import exceeds_budget, nearest_distance
from oddshift.mechanisms.forms import Formed
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.mechanisms.named import Family
from oddshift.mechanisms.path import PathExponential
from oddshift.mechanisms.remap import Remap
from oddshift.mechanisms.tiered import Tiered
from oddshift.model.tiers import Tiers

COMPARED = 500
"""Documents on which choices are compared, at most: each is a pass, and no verdict rests on it."""


@dataclass(frozen=True, eq=False, repr=False)
class NamedScales:
    """Scales with a name, the family of mechanisms to which they belong, and whether some tiers have another form than
    noise, as the choice itself can."""

    name: str
    scales: Scales
    family: Family
    has_forms: bool = False


def choices(measuring: Measuring, chosen: Trial | None) -> list[NamedScales]:
    """EM and, where scales were chosen, those and one scale of equal utility.

    For secret tiers also the chosen scales on naive tiers, which promise nothing across tiers, and the smallest chosen
    scale for everyone, which is safe without a path metric.
    """
    known, family = measuring.experiment.known, measuring.experiment.family
    n = len(known.tiers)
    found = [NamedScales("EM", (1.0,) * n, family)]
    if chosen is None:
        return found
    scales = chosen.tested.scales
    has_forms = any(form != "noise" for form in chosen.outcome.forms) or is_repaired(chosen.outcome.repair)
    found.append(NamedScales("AmPL", scales, family, has_forms=has_forms))
    is_uniform = len(set(scales)) == 1  # then it is its own baseline
    equal = scales if is_uniform else equal_utility(measuring, chosen.outcome.loss, remap=chosen.outcome.remapped)
    found.append(NamedScales("uniform", equal, family))
    plain = family(known.tiers)
    if not known.tiers.is_public and isinstance(plain, PathExponential):
        found.append(NamedScales("naive tiers", scales, _naive(plain)))
        found.append(NamedScales("smallest scale", (min(scales),) * n, family))
    return found


def compared(measuring: Measuring, certifying: Experiment, chosen: Trial | None, read: Reader) -> list[Compared]:
    """The choices on at most COMPARED certify documents, before remapping and, unless it was ruled out, after it.

    `read` gives the attacker that stands for the choice. What coincides is measured once, and the choice was measured
    when it was tested.
    """
    certifying = certifying if chosen is None else certifying.like(chosen.outcome)
    listed, part = choices(measuring, chosen), certifying.part(COMPARED)
    remaps = (False,) if certifying.settings.remap == "never" else (False, True)
    seen: dict[tuple[Scales, bool, bool, bool], Compared] = {}
    rows: list[Compared] = []
    for choice, remap in product(listed, remaps):
        name = f"{choice.name}, remapped" if remap else choice.name
        experiment = part if choice.has_forms else replace(part.without_forms, family=choice.family)
        moves = remap and experiment.is_moved(choice.scales)
        key = (choice.scales, choice.family is certifying.family, moves, choice.has_forms)
        if key not in seen:
            exact = _exact_epsilon(experiment, choice.scales, remap=moves)
            if chosen and choice.name == "AmPL" and remap == chosen.outcome.remapped:
                found = certifying.part_of(chosen.scans[chosen.basis.strongest], COMPARED)
                outcome = part.measured(part.at(choice.scales, remap=moves), found)
            else:
                outcome = experiment.outcome(choice.scales, read, remap=moves)
            seen[key] = Compared(name=name, outcome=outcome, exact_epsilon=exact)
        rows.append(replace(seen[key], name=name))
        measuring.progress("comparing", len(rows), len(listed) * len(remaps))
    return rows


def _exact_epsilon(experiment: Experiment, scales: Scales, *, remap: bool) -> float | None:
    """The exact ε of a release; a remapping has no closed form, so that of many points is not even built."""
    if remap and len(experiment.known.mechanism.space) > SCAN_LIMIT:
        return None
    return known_epsilon(experiment.released(scales, remap=remap))


def released_epsilon(mechanism: Mechanism) -> float:
    """The exact ε of a release over the pairs that count; of many points that before remapping, which adds none."""
    noise = mechanism.inner if isinstance(mechanism, Formed) else mechanism
    if isinstance(noise, Remap) and len(noise.space) > SCAN_LIMIT:
        return noise.inner.exact_epsilon
    return mechanism.exact_epsilon


def verify_epsilon(mechanism: Mechanism, limit: float) -> float:
    """The exact ε of a mechanism over the pairs that count, refused above `limit`; before remapping, which adds none.

    **Guarantee**: computed from the mechanism that is released, not taken from its label.
    """
    noise = mechanism.inner if isinstance(mechanism, Formed) else mechanism
    plain = noise.inner if isinstance(noise, Remap) else noise
    exact = plain.exact_epsilon
    if exact > limit and exceeds_budget(exact, limit, nearest_distance(plain.space)):
        raise NoGuarantee(f"the exact epsilon of the chosen scales is {exact:.6g}, expected at most {limit:.6g}")
    return exact


def _naive(safe: PathExponential) -> Family:
    def family(tiers: Tiers) -> Mechanism:
        return Tiered(safe.space, tiers, safe.epsilon)

    return family
