"""The ground floor: errors, arrays, log arithmetic, stored values, execution; nothing here knows what a secret is."""
