"""Model work in worker processes: bounded, killable, and never a thread of the web process."""
