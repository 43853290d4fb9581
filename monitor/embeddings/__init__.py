"""A server of embeddings, which is asked for the vectors of texts: settings and answers."""
