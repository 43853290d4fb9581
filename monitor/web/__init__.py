"""The pages: `application` has the routes, `access` decides who may see what, `server` serves."""
