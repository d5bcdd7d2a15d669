"""Apply a policy: to values in memory (`Sanitizer`), or to files (`protect`).

`docs/protect.md` explains both; integrations build on `Sanitizer`.
"""

from oddshift.protect.dataset.release import SetMeans, protect_set
from oddshift.protect.ledger.ledger import Ledger
from oddshift.protect.ledger.terms import UserLimit
from oddshift.protect.noise import os_uniforms, seeded_uniforms
from oddshift.protect.release import ledger_of, protect
from oddshift.protect.report import Protected, ProtectSettings
from oddshift.protect.sanitizer import Sanitizer

__all__ = [
    "Ledger",
    "ProtectSettings",
    "Protected",
    "Sanitizer",
    "SetMeans",
    "UserLimit",
    "ledger_of",
    "os_uniforms",
    "protect",
    "protect_set",
    "seeded_uniforms",
]
