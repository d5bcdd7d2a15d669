"""AmPL: adapt the noise of each tier until the leakage of the joint release is certified."""
