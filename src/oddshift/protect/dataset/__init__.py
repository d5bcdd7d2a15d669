"""Data sets: many files released in parts by processes or a cluster, each part exactly once."""
