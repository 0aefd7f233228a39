"""The queue benchmark: rows out of queues beside the published statement and pgmq."""
