"""Data: files, detectors and codecs that turn raw values into secrets and releases back into values."""
