"""The largest difference between two coordinates."""

from dataclasses import dataclass

import numpy as np

from oddshift.base.arrays import FloatArray


@dataclass(frozen=True)
class Chebyshev:
    """d = max |a_k − b_k|."""

    name: str = "chebyshev"

    def check(self, points: FloatArray) -> None:
        """Every finite point is in the domain."""

    def identity(self, points: FloatArray) -> FloatArray:
        """The coordinates themselves."""
        return points

    def between(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """Axis by axis, so that no (n, m, k) array is built."""
        largest = np.zeros((len(left), len(right)))
        for k in range(left.shape[1]):
            np.maximum(largest, np.abs(left[:, k, None] - right[None, :, k]), out=largest)
        return largest


CHEBYSHEV = Chebyshev()
