"""The edge: what every request passes through before a route sees it, and how every answer leaves."""
