"""The audit: what a joint attacker learns from releases, certified from below and bounded from above."""

from oddshift.audit.audit_result import AttackerResult, Audit, AuditSettings, TierRates
from oddshift.audit.auditing import audit

__all__ = ["AttackerResult", "Audit", "AuditSettings", "TierRates", "audit"]
