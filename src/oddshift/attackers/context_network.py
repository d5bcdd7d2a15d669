"""The context network: from a batch of documents, what the other outputs say about every candidate of a position.

c(x) = Σ_v log(1 − g_v + g_v·exp(f_v(x))/E[exp f_v]), f_v = h_v·B(x), h_v = view v of the other outputs minus the same
view with every output masked. Only candidates are computed: a word of one public tier is never weighed for another.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from oddshift.attackers.batches import Batch, Group
from oddshift.attackers.networks import encoder
from oddshift.base.arrays import FloatArray

_SATURATED = 15.0  # of the gates' logits, so that no ratio can vanish


@dataclass(frozen=True, eq=False)
class GroupOutput:
    """About the positions of one group and its candidates: log prior, own release, context term.

    `shift` is what W adds to the log prior, None where W is not read; `log_prior` is then already given W.
    """

    group: Group
    log_own: Tensor
    log_prior: Tensor
    context: Tensor
    shift: Tensor | None


class ContextNetwork(nn.Module):
    """Reads the releases of a document, leaves one out, and writes what the others say about that one."""

    def __init__(self, architecture: str, width: int, points: FloatArray, sizes: tuple[int, int]) -> None:
        """`sizes` are the numbers of features and of public words. Before training every f is 0."""
        super().__init__()
        size, (n_features, n_words) = points.shape, sizes
        spread = np.maximum(points.std(axis=0), 1e-12)
        self.points = torch.tensor((points - points.mean(axis=0)) / spread, dtype=torch.float32)
        self.read_free = nn.Parameter(0.5 * torch.randn(size[0], width))
        self.read_points = nn.Linear(size[1], width, bias=False)
        self.write_free = nn.Parameter(torch.randn(size[0], width) / width**0.5)
        self.write_points = nn.Linear(size[1], width, bias=False)
        self.place = nn.Linear(n_features, width)
        self.masked = nn.Parameter(torch.zeros(width))
        self.words = nn.Embedding(n_words, width) if n_words else None
        self.encoder = encoder(architecture, width)
        self.out = nn.Linear(width, width, bias=False)
        self.gate = nn.Linear(width, 1)
        nn.init.zeros_(self.out.weight)

    def forward(self, batch: Batch) -> list[GroupOutput]:
        """What is said about each group of the batch."""
        own = [_own(batch, group) for group in batch.groups]
        places = self.place(torch.from_numpy(batch.features))
        views = self._views(batch, places + self._seen(batch, own), places)
        full, masked = self.out(views)
        gate = self.gate(views[0]).clamp(-_SATURATED, _SATURATED)
        write = self.write_free + self.write_points(self.points)
        said = []
        for group, log_own in zip(batch.groups, own, strict=True):
            at, points = torch.from_numpy(group.members), write[group.points].T
            shift = None if self.words is None else masked[at].sum(dim=1) @ points
            log_prior = _tensor(group.log_prior)
            if shift is not None:
                log_prior = (log_prior + shift).log_softmax(dim=-1)
            hidden, gates = (full - masked)[at].unbind(dim=1), gate[at].unbind(dim=1)
            left, right = (_gated(h @ points, g, log_prior) for h, g in zip(hidden, gates, strict=True))
            context = (left * right).log()
            if batch.alone[group.members].any():
                context = context.masked_fill(torch.from_numpy(batch.alone[group.members])[:, None], 0.0)
            said.append(GroupOutput(group, log_own, log_prior, context, shift))
        return said

    def _seen(self, batch: Batch, own: list[Tensor]) -> Tensor:
        """(positions, width): each position's own posterior, read as the mean of what its candidates stand for."""
        read = self.read_free + self.read_points(self.points)
        seen = torch.zeros(len(batch.positions), read.shape[1])
        for group, log_own in zip(batch.groups, own, strict=True):
            posterior = (_tensor(group.log_prior) + log_own).softmax(dim=-1)
            seen = seen.index_add(0, torch.from_numpy(group.members), posterior @ read[group.points])
        return seen

    def _views(self, batch: Batch, seen: Tensor, places: Tensor) -> Tensor:
        """(2, positions, views, width): what the encoder says with every output there, and with every one masked."""
        row, column, real = torch.from_numpy(batch.row), torch.from_numpy(batch.column), torch.from_numpy(batch.real)
        if self.words is None or batch.tokens is None:
            elements = torch.zeros(*real.shape, seen.shape[-1])
        else:
            elements = self.words(torch.from_numpy(batch.tokens))
        grid = torch.zeros_like(elements).index_put((row, column), places)
        full = elements.index_put((row, column), seen)
        masked = elements.index_put((row, column), self.masked + places)
        views = self.encoder(torch.cat([full, masked]), grid.repeat(2, 1, 1), real.repeat(2, 1))
        return torch.stack([views[row, column], views[row + len(real), column]])


def _gated(said: Tensor, gate: Tensor, log_prior: Tensor) -> Tensor:
    """1 − g + g·exp(f)/E[exp f] for every candidate, g the gate of each position."""
    ratio = (said - said.amax(dim=-1, keepdim=True).detach()).exp()
    prior = log_prior.exp()
    mean = ratio @ prior[:, None] if prior.ndim == 1 else (ratio[:, None] @ prior[:, :, None])[:, 0]
    return torch.addcmul(torch.sigmoid(-gate), torch.sigmoid(gate) / mean, ratio)


def _own(batch: Batch, group: Group) -> Tensor:
    """The own releases of a group, (its positions, its candidates)."""
    rows = batch.log_own[group.members]
    return _tensor(rows if len(group.points) == rows.shape[1] else rows.take(group.points, axis=1))


def _tensor(array: FloatArray) -> Tensor:
    return torch.from_numpy(array).float()
