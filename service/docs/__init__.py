"""The API's description: /openapi.json, and /docs, a page of our own that needs nothing from elsewhere."""
