"""Topics, subscriptions and matches."""
