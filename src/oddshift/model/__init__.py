"""The model: points and their distance, tiers, secrets, priors, and the release that an attacker sees."""
