"""The ways out: a channel is `render` (pure) and `send` (I/O); `policy` says when to try again."""
