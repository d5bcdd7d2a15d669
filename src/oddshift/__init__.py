"""oddshift: how far do several perturbed records, seen together, shift an attacker's odds about each secret?"""

from oddshift.space import Space
from oddshift.tiers import Tiers

__version__ = "0.1.0"
__all__ = ["Space", "Tiers"]
