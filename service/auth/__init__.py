"""Who calls: API keys, each with a workspace and a role."""
