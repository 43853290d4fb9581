"""The work of commands that pages, the API or the service do, too."""
