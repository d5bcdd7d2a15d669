"""The leave-one-out encoder: for every element of a document, vectors that depend on all elements but that one.

What position l says about itself is known exactly (the mechanism), so a network that estimates the context term must
never see it: an LSTM reads up to l−1, another one down to l+1.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from oddshift.attackers.training import State

VIEWS = 2
"""Vectors that an encoder gives for each element; an attacker multiplies what they say, as left times right."""

_MOMENTS = ("step", "exp_avg", "exp_avg_sq")  # of Adam


class Encoder(nn.Module):
    """Two views of l: the state of a reader from the left up to l−1, and of one from the right down to l+1."""

    def __init__(self, width: int) -> None:
        """One layer in each direction."""
        super().__init__()
        self.from_left = nn.LSTM(width, width, batch_first=True)
        self.from_right = nn.LSTM(width, width, batch_first=True)
        self.merge = nn.Linear(2 * width, width)

    def forward(self, elements: Tensor, places: Tensor, real: Tensor) -> Tensor:
        """(batch, length, width) elements and places, (batch, length) which are real -> (batch, length, 2, width)."""
        mirror = _mirror(real)[:, :, None].expand_as(elements)
        before = _earlier(self.from_left(elements)[0])
        after = _earlier(self.from_right(elements.gather(1, mirror))[0]).gather(1, mirror)
        views = torch.stack([before, after], dim=2)
        joined = torch.cat([views, places[:, :, None].expand_as(views)], dim=-1)
        return views + nn.functional.silu(self.merge(joined))


def arrays_of(model: nn.Module, optimiser: torch.optim.Optimizer) -> State:
    """Weights, and the optimiser's moments once it has made a step, as arrays by name."""
    arrays = {f"weight.{name}": value for name, value in model.named_parameters()}
    for name, value in model.named_parameters():
        for moment, tensor in optimiser.state[value].items():
            arrays[f"{moment}.{name}"] = tensor
    return {name: np.array(value.detach().numpy()) for name, value in arrays.items()}


def put_back(model: nn.Module, optimiser: torch.optim.Optimizer, state: State) -> None:
    """Set weights and moments to what `arrays_of` gave."""
    with torch.no_grad():
        for name, value in model.named_parameters():
            value.copy_(torch.from_numpy(state[f"weight.{name}"]))
            moments = {moment: state.get(f"{moment}.{name}") for moment in _MOMENTS}
            optimiser.state[value] = {m: torch.from_numpy(a.copy()) for m, a in moments.items() if a is not None}


def _earlier(states: Tensor) -> Tensor:
    """The state before each element: shifted by one, zero at the first."""
    return torch.cat([torch.zeros_like(states[:, :1]), states[:, :-1]], dim=1)


def _mirror(real: Tensor) -> Tensor:
    """For every row the element numbers with the real ones (they come first) in reverse order."""
    steps = torch.arange(real.shape[1]).expand_as(real)
    lengths = real.sum(dim=1, keepdim=True)
    return torch.where(steps < lengths, lengths - 1 - steps, steps)
