"""Leave-one-out encoders: for every element of a document, vectors that depend on all elements but that one.

What position l says about itself is known exactly (the mechanism), so a network that estimates the context term must
never see it. RNN and LSTM read the states before and after l; the Transformer keeps its queries apart from what it
reads: queries evolve from places only, keys and values are the raw elements in every layer, the diagonal is masked.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor, nn

from oddshift.attackers.training import State

VIEWS = 2
"""Vectors that an encoder gives for each element; an attacker multiplies what they say, as left times right."""

_MOMENTS = ("step", "exp_avg", "exp_avg_sq")  # of Adam

REACH = 16
"""The largest distance between elements that a Transformer distinguishes."""


class Recurrent(nn.Module):
    """Two views of l: the state of a reader from the left up to l−1, and of one from the right down to l+1."""

    def __init__(self, width: int, cell: str) -> None:
        """One layer in each direction; cells `rnn` or `lstm`."""
        super().__init__()
        kind: type[nn.RNN] | type[nn.LSTM] = nn.LSTM if cell == "lstm" else nn.RNN
        self.from_left = kind(width, width, batch_first=True)
        self.from_right = kind(width, width, batch_first=True)
        self.merge = nn.Linear(2 * width, width)

    def forward(self, elements: Tensor, places: Tensor, real: Tensor) -> Tensor:
        """(batch, length, width) elements and places, (batch, length) which are real -> (batch, length, 2, width)."""
        mirror = _mirror(real)[:, :, None].expand_as(elements)
        before = _earlier(self.from_left(elements)[0])
        after = _earlier(self.from_right(elements.gather(1, mirror))[0]).gather(1, mirror)
        views = torch.stack([before, after], dim=2)
        joined = torch.cat([views, places[:, :, None].expand_as(views)], dim=-1)
        return views + nn.functional.silu(self.merge(joined))


class Transformer(nn.Module):
    """Queries from places attend to raw elements; each layer refines the queries, never the elements.

    Stacking ordinary layers would leak: after one layer the key of l+1 contains element l. Here keys and values of
    every layer are functions of one element each, so no path leads from element l to query l.
    """

    def __init__(self, width: int, heads: int = 4, layers: int = 2) -> None:
        """`heads` must divide `width`."""
        super().__init__()
        self.start = nn.Parameter(0.1 * torch.randn(width))
        self.layers = nn.ModuleList(_Layer(width, heads) for _ in range(layers))
        self.views = nn.Linear(width, VIEWS * width)

    def forward(self, elements: Tensor, places: Tensor, real: Tensor) -> Tensor:
        """(batch, length, width) elements and places, (batch, length) which are real -> (batch, length, 2, width)."""
        length = elements.shape[1]
        queries = self.start + places
        steps = torch.arange(length)
        offset = (steps[:, None] - steps[None, :]).clamp(-REACH, REACH) + REACH
        hidden = torch.eye(length, dtype=torch.bool)[None] | ~real[:, None, :]
        for layer in self.layers:
            queries = layer(queries, elements, offset, hidden)
        batch, _, width = queries.shape
        return self.views(queries).reshape(batch, length, VIEWS, width)


class _Layer(nn.Module):
    """One round of attention from queries to raw elements, then a small network on each query."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)
        self.value, self.back = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.by_distance = nn.Parameter(torch.randn(heads, 2 * REACH + 1))
        self.norm = nn.LayerNorm(width)
        self.inner = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
        )

    def forward(self, queries: Tensor, elements: Tensor, offset: Tensor, hidden: Tensor) -> Tensor:
        query = self._split(self.query(self.norm(queries)))
        key, value = self._split(self.key(elements)), self._split(self.value(elements))
        scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1]) + self.by_distance[:, offset]
        attention = scores.masked_fill(hidden[:, None], -1e9).softmax(dim=-1)
        attention = attention.masked_fill(hidden[:, None], 0.0)  # alone in its document: nothing to read
        queries = queries + self.back((attention @ value).transpose(1, 2).flatten(2))
        return queries + self.inner(queries)

    def _split(self, values: Tensor) -> Tensor:
        """(batch, length, width) -> (batch, heads, length, width / heads)."""
        batch, length, _ = values.shape
        return values.reshape(batch, length, self.heads, -1).transpose(1, 2)


ARCHITECTURES = ("rnn", "lstm", "transformer")
"""The encoders that `encoder` knows."""


def encoder(architecture: str, width: int) -> Recurrent | Transformer:
    """The leave-one-out encoder of a name."""
    return Transformer(width) if architecture == "transformer" else Recurrent(width, architecture)


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
