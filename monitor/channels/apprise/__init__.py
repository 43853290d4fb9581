"""Services that the library Apprise knows: chats, and what pushes to phones."""
