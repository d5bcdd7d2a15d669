"""The same operations in two states of the code: `python -m benchmarks.before PACKAGES`."""
