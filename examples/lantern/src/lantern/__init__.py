"""A package that adds a metric, a mechanism, an attacker, a detector and a codec to oddshift (docs/adding.md)."""
