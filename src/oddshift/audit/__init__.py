"""The audit: what a joint attacker learns from releases, certified from below and bounded from above."""

from oddshift.audit.auditing import audit
from oddshift.audit.result import AttackerResult, Audit, TierRates
from oddshift.audit.settings import AuditSettings

__all__ = ["AttackerResult", "Audit", "AuditSettings", "TierRates", "audit"]
