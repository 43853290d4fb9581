"""What several kinds share: formats, dates, windows and pages, and documents that are broken."""
