"""The pages: `application` has the routes, `access` says who may see what, `server` serves them."""
