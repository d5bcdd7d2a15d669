"""Runs to make reports of: a real small audit, an adaptation of made-up numbers, and names that try to be markup."""

import math
from dataclasses import fields, is_dataclass, replace
from functools import cache
from itertools import product

import numpy as np

from oddshift.adapt.result import Adaptation, AdaptSettings, Compared, Round, ScaledOutcome, Tested, TierOutcome
from oddshift.app.report import Sources
from oddshift.attackers.attacker import knowledge
from oddshift.attackers.chain import fit_plugin
from oddshift.attackers.training import Curve
from oddshift.audit import AuditSettings, audit
from oddshift.audit.beliefs import belief
from oddshift.audit.result import SubgroupRate
from oddshift.data.codecs.text.passages import Passage, Piece
from oddshift.data.embedded import people
from oddshift.evidence.witness import witness_of
from oddshift.mechanisms import Exponential
from oddshift.model.release import perturb

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&amp;"
TIERS = ("PII", "PoII")


@cache
def small_audit(documents=200):
    """A real audit of few documents, and the belief that goes with it; made once for all files of tests."""
    corpus = people(documents)
    split = corpus.records.split(rng=np.random.default_rng(0))
    known = knowledge(Exponential(corpus.space, 1.5), corpus.tiers, split.fit)
    plugin = fit_plugin(known)
    found = audit(split, known, [plugin], AuditSettings(epsilon=1.5, delta=0.05, worst_positions=20))
    few = split.certify.take(np.arange(5))
    release = perturb(few, known.mechanism, known.tiers, np.random.default_rng(2))
    return found, belief(plugin, few, release, known)


def complete(found):
    """The audit with all that an audit can hold: a witness, a proven bound, subgroups, a learning curve, notes."""
    witness = witness_of("guess_game", (61, 68), (1.0,), alpha=0.05, epsilon=1.5)
    curve = Curve(train=(3.9, 3.4, 3.1, 3.0), validation=(4.2, 3.6, 3.3, 3.2, 3.25))
    last = replace(found.attackers[-1], curve=curve)
    groups = tuple(SubgroupRate(t, g, 40, 0.1 + 0.05 * k, 0.02, 0.3) for t in TIERS for k, g in enumerate("ab"))
    return replace(
        found,
        attackers=(*found.attackers[:-1], last),
        witness=witness,
        upper_bound=6.0,
        upper_basis="under the known law of the data",
        subgroups=groups,
        warnings=("a note",),
    )


def point(scales, shift=0.0):
    """Made-up but consistent: noise lowers the rate and raises the loss."""
    rates = [max(0.0, 0.09 * s**6 + shift) for s in scales]
    tiers = tuple(
        TierOutcome(tier=name, rate=r, rate_error=0.004, top1=0.6 * s, top1_error=0.01, loss=0.36 - 0.14 * s * s)
        for name, s, r in zip(TIERS, scales, rates, strict=True)
    )
    loss = sum(t.loss for t in tiers) / len(tiers)
    return ScaledOutcome(
        scales=scales,
        admissible=scales[0] <= scales[1],
        tiers=tiers,
        loss=loss,
        plain_loss=loss + 0.02,
        effective_outputs=300 * math.sqrt(scales[0]),
        gain=0.8,
        gain_error=0.02,
    )


def made_up_adaptation(chosen=(0.7, 0.9)):
    """An adaptation whose numbers were never measured; `chosen=None` is a search that failed."""
    grid = tuple(point(s) for s in product((0.2, 0.4, 0.6, 0.8, 1.0), repeat=2))
    compared = [("EM", (1.0, 1.0))]
    if chosen is not None:
        compared += [("AmPL", chosen), ("uniform", (0.81, 0.81))]
    steps = [(1.0, 1.0), (0.8, 0.95), (0.72, 0.9), (0.7, 0.9)]
    rounds = tuple(
        Round(number=k, outcome=point(s), objective=1 - 0.1 * k, gradient=(0.1, 0.1), step=0.5, moved=0.1)
        for k, s in enumerate(steps)
    )
    return Adaptation(
        settings=AdaptSettings(epsilon=1.5, delta=0.05),
        detector="none",
        mechanism="Remap(made up)",
        tier_names=TIERS,
        tiers_are_public=True,
        attacker="plugin",
        with_context=False,
        documents=(240, 80, 80),
        grid=grid,
        uniform=tuple(p for p in grid if len(set(p.scales)) == 1),
        rounds=rounds,
        sequence=(Tested(scales=(0.7, 0.9), loss=0.27, state="certified", upper=(0.03, 0.045), lower=(0.0, 0.01)),),
        chosen=chosen,
        remapped=True,
        remap_reason="remapped: loss 0.2700 instead of 0.3000",
        basis="every attacker that learned something stays within the limits: plugin",
        exact_epsilon=None if chosen is None else 1.1,
        compared=tuple(
            Compared(name=name + end, outcome=point(s, 0.002)) for name, s in compared for end in ("", ", remapped")
        ),
        constant_loss=0.345,
        loss=0.27,
        hypervolumes=(("grid", 0.6),),
        evidence=(),
        assumptions=("tiers are public",),
        warnings=(),
    )


PASSAGES = (
    Passage(
        before=(Piece("Our friend ", ""), Piece("Zorbal", "PII"), Piece(" likes ", ""), Piece("qwchess", "PoII")),
        after=(Piece("Our friend ", ""), Piece("Maria", "PII"), Piece(" likes ", ""), Piece("golf", "PoII")),
    ),
)


def sources(audited):
    """Everything that a report can show."""
    found, example = audited
    return Sources(
        name="a-run",
        audit=complete(found),
        adaptation=made_up_adaptation(),
        belief=example,
        passages=PASSAGES,
        config='[data]\nkind = "people"\n',
        versions=(("python", "3.11"),),
        has_secrets=True,
    )


def renamed(value, names):
    """The same value with other names in every field, however deep."""
    if is_dataclass(value):
        return replace(value, **{f.name: renamed(getattr(value, f.name), names) for f in fields(value)})
    if isinstance(value, tuple):
        return tuple(renamed(item, names) for item in value)
    return names.get(value, value) if isinstance(value, str) else value


NAMES = {"PII": HOSTILE, "plugin": HOSTILE, "plugin, recalibrated": f"{HOSTILE}, recalibrated"}


def hostile(audited):
    """The same with markup in every name that comes from a user."""
    plain = sources(audited)
    found, adapted = (renamed(part, NAMES) for part in (plain.audit, plain.adaptation))
    names = {"subgroup": HOSTILE}
    found = replace(
        found,
        detector=HOSTILE,
        mechanism=HOSTILE,
        upper_basis=HOSTILE,
        subgroups=tuple(replace(row, **names) for row in found.subgroups),
        assumptions=(HOSTILE,),
        warnings=(HOSTILE,),
    )
    example = replace(plain.belief, candidates=tuple(replace(c, name=HOSTILE) for c in plain.belief.candidates))
    texts = (Passage(before=(Piece(HOSTILE, ""), Piece(HOSTILE, HOSTILE)), after=(Piece(HOSTILE, "PII"),)),)
    return replace(
        plain,
        name=HOSTILE,
        audit=found,
        adaptation=replace(adapted, mechanism=HOSTILE, attacker=HOSTILE, warnings=(HOSTILE,)),
        belief=example,
        passages=texts,
        config=HOSTILE,
        versions=((HOSTILE, HOSTILE),),
    )
