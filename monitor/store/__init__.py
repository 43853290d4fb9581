"""The store: the tables where the stages meet, on SQLite or PostgreSQL. The only SQLAlchemy."""
