"""The service under load: a client, a yardstick, and what is measured. Run by `benchmarks.service_load`."""
