"""Evidence: claims, certificates and witnesses, with the numbers that let anyone check them again."""
