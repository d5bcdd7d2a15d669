"""The masked network: from the clean secrets on one side of a hidden position, the law of the hidden one.

log Pr[x_t = x | x_1 … x_{t−1}] = log π(x) + (h_t − h̄_t)·B(x) + const, h_t the state of a reader of what stands before,
h̄_t the same where every secret is replaced by its mean under π; a second reader comes from the other end. A secret
enters as A(x), so a *belief* q about it enters as Σ_x q(x)·A(x). A and B are linear in the point's coordinates plus a
free vector. Reference: masked language models (Devlin et al., 2019), with one reader for each side.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from oddshift.base.arrays import FloatArray

_SMALL_START = 0.05  # spread of the free vectors before training: what was never seen stays near its coordinates


class MaskedNetwork(nn.Module):
    """Two readers over the same points; `n_features` public features describe every position."""

    def __init__(self, width: int, points: FloatArray, n_features: int) -> None:
        """Before training every h is 0."""
        super().__init__()
        spread = np.maximum(points.std(axis=0), 1e-12)
        self.points = torch.tensor((points - points.mean(axis=0)) / spread, dtype=torch.float32)
        self.sides = nn.ModuleList(Side(width, self.points, n_features) for _ in range(2))


class Side(nn.Module):
    """One reader: a gated recurrent network over the elements it has passed, and what it says about the next one."""

    def __init__(self, width: int, points: Tensor, n_features: int) -> None:
        """Points as coordinates, scaled."""
        super().__init__()
        self.coordinates = points
        self.read_free = nn.Parameter(_SMALL_START * torch.randn(len(points), width))
        self.read_points = nn.Linear(points.shape[1], width, bias=False)
        self.write_free = nn.Parameter(_SMALL_START * torch.randn(len(points), width))
        self.write_points = nn.Linear(points.shape[1], width, bias=False)
        self.place = nn.Linear(n_features, width)
        self.reader = nn.GRU(width, width, batch_first=True)
        self.merge = nn.Linear(2 * width, width)
        self.out = nn.Linear(width, width, bias=False)
        nn.init.zeros_(self.out.weight)

    def read(self) -> Tensor:
        """A(x) of every point, (points, width)."""
        return self.read_free + self.read_points(self.coordinates)

    def write(self) -> Tensor:
        """B(x) of every point, (points, width)."""
        return self.write_free + self.write_points(self.coordinates)

    def states(self, elements: Tensor, places: Tensor) -> Tensor:
        """h of every position, from what this reader has passed before it; (documents, length, width)."""
        passed = self.reader(elements + places)[0]
        return self.context_vector(torch.cat([torch.zeros_like(passed[:, :1]), passed[:, :-1]], dim=1), places)

    def context_vector(self, state: Tensor, places: Tensor) -> Tensor:
        """h from a state and the place it is asked about."""
        hidden = nn.functional.silu(self.merge(torch.cat([state, places], dim=-1)))
        return self.out(state + hidden)

    def step(self, element: Tensor, state: Tensor) -> Tensor:
        """The state after one more element, (documents, width)."""
        return self.reader(element[:, None], state[None])[1][0]
