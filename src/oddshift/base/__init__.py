"""Ground: errors, arrays, log arithmetic, stored values and how work is spread; nothing here knows what a secret is."""
