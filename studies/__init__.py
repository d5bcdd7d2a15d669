"""Studies: committed commands with fixed seeds that measure what the statistics promise; results in docs/studies."""
