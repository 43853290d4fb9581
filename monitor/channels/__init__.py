"""Channels: `render` (pure) and `send` (I/O); `retry_policy` decides when to try again."""
