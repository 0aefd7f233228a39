"""The JVM client beside other clients of PostgreSQL."""
