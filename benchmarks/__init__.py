"""Timings with limits: `python -m benchmarks [name ...] [--write]`."""
