"""A scikit-learn transformer: every row of a numeric table released through a policy's mechanism.

It applies a policy that is given, or makes one at `fit`: the exponential mechanism over the rows it is shown.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from oddshift.base.arrays import FloatArray
from oddshift.base.errors import InvalidInput, a_kind
from oddshift.data.codecs import VectorCodec, VectorSettings
from oddshift.mechanisms import Exponential, calibrate
from oddshift.protect import Sanitizer, seeded_uniforms
from oddshift.protect.policies import Policy, load_policy, make_policy


class MetricPrivacyTransformer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Replaces every row by a point of a policy: the nearest point to the row, then the policy's mechanism.

    Give either `policy` (a Policy, or the path of a policy.json; of vectors, or of a table with numeric columns only),
    or `epsilon`: then the distinct rows seen by `fit` become the points, under `metric` (a name), and row x is released
    as row y with probability ∝ exp(−½ε·d(x, y)); `calibrated` raises the nominal ε until the exact one is `epsilon`.
    `random_state` repeats the noise, for experiments; None, the default, takes it from the operating system.

    After `fit`, `policy_` is the policy that `transform` applies. Shapes: (n, k) in, (n, k) out.

    **Guarantee**: each row is released with a uniform of its own, through a mechanism that is ε-mDP between the points.
    The points themselves are treated as public: without `policy`, **every released row is one of the rows shown to
    `fit`**, so show it rows that may be known. Every call of `transform` is a release of its own, and releases of one
    row add up. Anyone who knows `random_state` can undo the noise.

    >>> public = [[0.0, 0.0], [0.0, 1.0], [5.0, 5.0]]
    >>> MetricPrivacyTransformer(epsilon=100.0).fit(public).transform([[0.1, 0.9], [4.0, 6.0]])
    array([[0., 1.],
           [5., 5.]])
    """

    def __init__(
        self,
        epsilon: float | None = None,
        *,
        metric: str = "euclidean",
        calibrated: bool = False,
        policy: Policy | str | Path | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        """Keep the parameters as they are; `fit` checks them."""
        self.epsilon = epsilon
        self.metric = metric
        self.calibrated = calibrated
        self.policy = policy
        self.random_state = random_state

    def fit(self, X: npt.ArrayLike, y: object = None) -> MetricPrivacyTransformer:
        """Make the policy from the rows of X (n, k), or check that the given one is about such rows."""
        if (self.epsilon is None) == (self.policy is None):
            raise InvalidInput(f"epsilon={self.epsilon} and policy={self.policy!r}, expected one of the two")
        least = 1 if self.epsilon is None else 2
        table: FloatArray = validate_data(self, X, dtype=np.float64, ensure_min_samples=least)
        self.policy_ = self._made(table, self.epsilon) if self.epsilon is not None else self._given()
        self._sanitizer = Sanitizer(self.policy_)
        return self

    def transform(self, X: npt.ArrayLike) -> FloatArray:
        """A release of the rows of X; NaN where the policy masks."""
        check_is_fitted(self)
        table: FloatArray = validate_data(self, X, reset=False, dtype=np.float64)
        sanitizer = self._sanitizer
        if self.random_state is not None:
            seed = int(check_random_state(self.random_state).randint(2**31))
            sanitizer = replace(sanitizer, uniforms=seeded_uniforms(seed))
        asked = self.policy_.settings
        if self.policy_.kind != "table":
            return sanitizer.rows(table)
        released = sanitizer.columns(dict(zip(asked.secret, table.T.tolist(), strict=True)))
        return np.array([released[name] for name in asked.secret], dtype=np.float64).T

    def _made(self, table: FloatArray, epsilon: float) -> Policy:
        """The exponential mechanism over the rows of a table, as a policy."""
        codec = VectorCodec.fit({"vectors": list(table)}, VectorSettings(metric=self.metric, points="fit"))
        space = codec.space
        mechanism = Exponential(space, epsilon)
        if self.calibrated:
            mechanism = calibrate(lambda nominal: Exponential(space, nominal), epsilon)
        return make_policy(codec, mechanism, codec.tiers, calibrated=self.calibrated)

    def _given(self) -> Policy:
        """The policy that was given, when it is about rows of numbers like those that `fit` sees."""
        policy = load_policy(self.policy) if isinstance(self.policy, str | Path) else self.policy
        if not isinstance(policy, Policy):
            raise InvalidInput(f"policy is {a_kind(policy)}, expected a Policy or the path of a policy.json")
        asked, width = policy.settings, policy.space.points.shape[1]
        if policy.kind == "table" and not asked.categorical:
            width = len(asked.secret)
            names = tuple(getattr(self, "feature_names_in_", asked.secret))
            if names != asked.secret:
                raise InvalidInput(f"columns {', '.join(map(str, names))}, expected {', '.join(asked.secret)}")
        elif policy.kind != "vectors":
            raise InvalidInput(f"{policy!r}, expected one of vectors, or of a table with numeric columns only")
        if width != self.n_features_in_:
            raise InvalidInput(f"X has {self.n_features_in_} columns, expected {width} like the policy")
        return policy
