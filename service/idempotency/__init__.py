"""One key, one result: the answer to a POST is stored in the transaction that does its work, and replayed."""
