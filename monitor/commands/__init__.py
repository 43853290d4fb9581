"""What people ask of the store, from the command line and from pages: one module a question."""
