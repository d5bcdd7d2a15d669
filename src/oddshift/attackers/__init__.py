"""Attackers: each turns a release into beliefs about every secret; one file each, one line in the registry each."""

from oddshift.attackers.fitting import ATTACKERS, UNTRAINED, Fit, FitOptions

__all__ = ["ATTACKERS", "UNTRAINED", "Fit", "FitOptions"]
