"""The reconstruction of paper mode: its settings, and the network from all outputs of a document to every secret.

Widths, layers and the sequence's positions are not stated by the paper: ours are those of `_body` and `_waves`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from oddshift.attackers.attacker import Knowledge
from oddshift.base.arrays import FloatArray, one_of, positive, whole
from oddshift.base.errors import InvalidInput
from oddshift.mechanisms.mechanism import Mechanism

ARCHITECTURES = ("rnn", "lstm", "transformer")
"""The networks of the paper."""


@dataclass(frozen=True, kw_only=True)
class PaperSettings:
    """What the paper states, and what it leaves open.

    `temperature` is τ_base·τ. `prior`: uniform over the candidates, or the empirical frequencies. `split_by`: by
    document (ours: none is on both sides), or by pair, as written: single secret-output pairs, so that validation
    pairs share documents with training pairs. `fresh_noise` perturbs again in every epoch; as written, once.
    `scale_range` makes the scales of the tiers an input and trains for all of them in that range, with fresh noise: one
    network for a search over scales, where the paper trains one for each.
    """

    architecture: str = "lstm"
    width: int = 64
    tau_base: float = 1.0
    tau: float = 1.0
    prior: str = "uniform"
    split_by: str = "document"
    fresh_noise: bool = False
    scale_range: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        """Check names and temperatures."""
        one_of(self.architecture, "architecture", ARCHITECTURES)
        one_of(self.prior, "prior", ("uniform", "empirical"))
        one_of(self.split_by, "split_by", ("document", "pair"))
        whole(self.width, "width", 4)
        positive(self.tau_base, "tau_base")
        positive(self.tau, "tau")
        if self.scale_range is not None and not 0 < self.scale_range[0] <= self.scale_range[1] < np.inf:
            raise InvalidInput(f"scale_range={self.scale_range}, expected 0 < low <= high")

    @property
    def temperature(self) -> float:
        """τ_base·τ."""
        return self.tau_base * self.tau


class Reconstruction(nn.Module):
    """From all outputs of a document, a guess at the coordinates of each secret; it sees its own output too."""

    def __init__(self, settings: PaperSettings, known: Knowledge, points: FloatArray) -> None:
        """Outputs come as coordinates when they are points, otherwise as learned vectors."""
        super().__init__()
        width, mechanism = settings.width, known.mechanism
        self.centre = torch.tensor(points.mean(axis=0), dtype=torch.float32)
        self.spread = float(max(points.std(), 1e-12))
        self.inputs = nn.Embedding(mechanism.n_outputs, points.shape[1])
        if mechanism.outputs is not None:
            scaled = (_output_points(mechanism, points) - points.mean(axis=0)) / self.spread
            self.inputs.weight = nn.Parameter(torch.tensor(scaled, dtype=torch.float32), requires_grad=False)
        self.enter = nn.Linear(points.shape[1], width)
        self.under = None if settings.scale_range is None else nn.Linear(len(known.tiers), width)
        self.body = _body(settings.architecture, width)
        self.leave = nn.Linear(width if settings.architecture == "transformer" else 2 * width, points.shape[1])

    def forward(self, outputs: Tensor, real: Tensor, scales: Tensor) -> Tensor:
        """(documents, length) outputs and log scales -> (documents, length, coordinates), centred and scaled."""
        entered = self.enter(self.inputs(outputs))
        if self.under is not None:
            entered = entered + self.under(scales)
        if isinstance(self.body, nn.TransformerEncoder):
            return self.leave(self.body(entered + _waves(*entered.shape[1:]), src_key_padding_mask=~real))
        packed = nn.utils.rnn.pack_padded_sequence(entered, real.sum(dim=1), batch_first=True, enforce_sorted=False)
        states, _ = nn.utils.rnn.pad_packed_sequence(self.body(packed)[0], batch_first=True)
        return self.leave(states)


def log_scales(known: Knowledge) -> Tensor:
    """The scales of the tiers as the network reads them."""
    return torch.tensor(np.log(known.tiers.scales), dtype=torch.float32)


def _output_points(mechanism: Mechanism, points: FloatArray) -> FloatArray:
    """Coordinates of the outputs as the attacker sees them; its own embedding holds those of the points only."""
    outputs = mechanism.outputs
    assert outputs is not None
    if points is mechanism.space.points:
        return outputs.points
    if not np.array_equal(outputs.points, mechanism.space.points):
        raise InvalidInput("embedding has no rows for the outputs, expected a mechanism whose outputs are its points")
    return points


def _body(architecture: str, width: int) -> nn.Module:
    if architecture == "transformer":
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True)
        return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    kind: type[nn.RNN] | type[nn.LSTM] = nn.LSTM if architecture == "lstm" else nn.RNN
    return kind(width, width, batch_first=True, bidirectional=True)


def _waves(length: int, width: int) -> Tensor:
    """Sines and cosines of the position, (length, width)."""
    rate = torch.exp(torch.arange(0, width, 2) * (-np.log(10_000.0) / width))
    angle = torch.arange(length)[:, None] * rate[None, :]
    return torch.cat([angle.sin(), angle.cos()], dim=1)
