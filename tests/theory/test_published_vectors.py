"""The project's published test vectors: exact models, proven bounds and certificates, every number of each to 1e-6."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

import oddshift as od

ROOT = Path(__file__).resolve().parents[2]
PLACES = [Path(os.environ["ODDSHIFT_DATA"]).parent] if "ODDSHIFT_DATA" in os.environ else []
PLACES.append(ROOT.parent / "shared")
FOUND = next((place / "vectors.json" for place in PLACES if (place / "vectors.json").is_file()), None)
VECTORS = json.loads(FOUND.read_text())["vectors"] if FOUND else []
MODELS = [v for v in VECTORS if v["kind"] == "mpl_model"]
CERTIFICATES = [v for v in VECTORS if v["kind"] == "certificate"]

METHODS = {
    "lp_loglipschitz": "lp",
    "soft_coupling": "coupling",
    "w_infinity": "w_infinity",
    "diameter": "diameter",
    "hmm_matrix_recursion_upper": "hmm",
}


def close(value):
    return pytest.approx(value, abs=1e-6)


def test_the_vectors_are_there():
    if FOUND is None and os.environ.get("CI"):
        pytest.fail(f"no vectors.json in {[str(p) for p in PLACES]}")
    if FOUND is None:
        pytest.skip("no vectors.json beside the project (set ODDSHIFT_DATA to the data folder next to it)")
    assert len(MODELS) + len(CERTIFICATES) == len(VECTORS)


CASES = [pytest.param(v, e, id=f"{v['id']}-{e['target_index']}") for v in MODELS for e in v["expected"]]


def priors(vector):
    yield od.Joint(vector["joint_prior"])
    if "chain" in vector:
        yield od.Markov(vector["chain"]["initial"], vector["chain"]["transitions"], vector["L"])


@pytest.mark.parametrize(("vector", "expected"), CASES)
def test_model(vector, expected):
    target, channels = expected["target_index"], [np.log(c) for c in vector["channels"]]
    for prior in priors(vector):
        leak = od.exact_leakage(prior, channels, vector["distance"], target)
        assert leak.joint == close(expected["sup_mpl"])
        assert leak.single == close(expected["single_release_sup_mpl"])
        assert leak.rate(expected["eps"]) == close(expected["violation_prob"])
        assert prior.marginals[target].tolist() == close(expected["prior_marginal"])
        after = od.log_posterior(prior, channels, expected["y"])[target]
        assert np.exp(after).tolist() == close(expected["posterior_at_y"])
        shift = od.mpl(np.log(prior.marginals[target]), after, vector["distance"])
        for pair, value in expected["mpl_at_y"].items():
            a, b = (int(i) for i in pair.split(","))
            assert shift[a, b] == close(value)
        (a, b), outputs = leak.witness
        reached = od.log_posterior(prior, channels, outputs)[target]
        assert od.mpl(np.log(prior.marginals[target]), reached, vector["distance"])[a, b] == close(leak.joint)


@pytest.mark.parametrize(("vector", "expected"), CASES)
def test_upper_bounds(vector, expected):
    target, channels = expected["target_index"], [np.log(c) for c in vector["channels"]]
    named = {**expected["upper_bounds"], **{k: v for k, v in expected.items() if k in METHODS}}
    for prior in priors(vector):
        for name, value in named.items():
            if METHODS[name] == "hmm" and not isinstance(prior, od.Markov):
                continue
            assert od.upper_bound(prior, channels, vector["distance"], target, METHODS[name]) == close(value), name


def certificate(name, given):
    bounds, witness = od.bounds, od.witness
    return {
        "C01": lambda: bounds.failure_exponent(given["S"], given["delta"], 1 / float(given["xi"].split("/")[1])),
        "C02": lambda: bounds.failure_exponent(given["S"], given["delta"], 1 / float(given["xi"].split("/")[1])),
        "C04": lambda: bounds.hoeffding_upper(given["phat"], given["n"], given["a"], sides=2),
        "C05": lambda: bounds.clopper_pearson_upper(given["k"], given["n"], given["a"]),
        "C09": lambda: bounds.hoeffding_bentkus_pvalue(given["mean"], given["n"], given["delta"]),
        "C12": lambda: bounds.betting_upper(given["z"], given["a"]),
        "C15": lambda: bounds.plan_clopper_pearson(given["delta"], given["p"], given["a"], given["power"]),
        "C17": lambda: witness.two_arm(given["kA"], given["nA"], given["kB"], given["nB"], given["D"], given["a"]),
        "C18": lambda: witness.guess_game(given["v"], given["r"], given["D"], given["a"]),
    }[name]()


@pytest.mark.parametrize("vector", CERTIFICATES, ids=[v["id"] for v in CERTIFICATES])
def test_certificate(vector):
    got = certificate(vector["id"].split("_")[0], vector["inputs"])
    assert float(got) == pytest.approx(vector["expected"], abs=1e-6, rel=1e-9)
