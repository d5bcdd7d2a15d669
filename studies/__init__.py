"""Studies: commands that run on real data and write the tables kept under docs/studies."""
