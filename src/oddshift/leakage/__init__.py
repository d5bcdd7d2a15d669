"""Leakage: how far odds shift, exactly for small models and bounded from above for any."""
