"""Watching a standing policy: windows of new data, audited one after another, and an alarm by a certified change."""
