"""Connections, transactions, tables and locks."""
