"""The audit: what a joint attacker learns from releases, certified from below and bounded from above."""

from oddshift.audit.audit_result import AttackerResult, Audit, TierRates
from oddshift.audit.audit_settings import AuditSettings
from oddshift.audit.auditing import audit

__all__ = ["AttackerResult", "Audit", "AuditSettings", "TierRates", "audit"]
