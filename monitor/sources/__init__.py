"""Sources: one module a kind. A source finds documents (I/O) and reads them (pure)."""
