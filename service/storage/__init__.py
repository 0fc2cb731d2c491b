"""The database: its tables, its connections, its clock and its schema version.

SQL stands here and in the repositories of each resource, and nowhere else.
"""
