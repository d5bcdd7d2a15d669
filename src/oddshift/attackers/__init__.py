"""Attackers: each turns a release into beliefs about every secret; one file each."""
