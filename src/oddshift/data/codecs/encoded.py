"""What every modality gives: Records with tiers, and the way back from released outputs to data of the same kind.

Images, audio and time series come in as vectors; a new kind of data needs this protocol and nothing else.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy.typing as npt

from oddshift.model.records import Records
from oddshift.model.tiers import Tiers


@runtime_checkable
class Encoded(Protocol):
    """Data turned into secrets."""

    @property
    def records(self) -> Records:
        """The secrets and their public context."""

    @property
    def tiers(self) -> Tiers | None:
        """The tiers of the space's points, when there are any."""

    def decode(self, outputs: npt.ArrayLike) -> Any:
        """The data with each secret replaced by the point `outputs` names, in the order of `records.points`."""
