package dev.howdah.pg;

import java.util.Locale;

/** How a transaction is begun. Immutable: each setter returns another object. */
public final class TransactionOptions {
  /** What the database's settings say. */
  public static final TransactionOptions DEFAULT = new TransactionOptions(null, null, false);

  /** Isolation levels, by the standard's names. */
  public enum Isolation {
    /** As read committed in PostgreSQL. */
    READ_UNCOMMITTED,
    /** Each statement sees what was committed before it. */
    READ_COMMITTED,
    /** All statements see what was committed before the first. */
    REPEATABLE_READ,
    /** As if transactions ran one after another. */
    SERIALIZABLE
  }

  private final Isolation isolation;
  private final Boolean readOnly;
  private final boolean deferrable;

  private TransactionOptions(Isolation isolation, Boolean readOnly, boolean deferrable) {
    this.isolation = isolation;
    this.readOnly = readOnly;
    this.deferrable = deferrable;
  }

  /** With an isolation level. */
  public TransactionOptions isolation(Isolation level) {
    return new TransactionOptions(level, readOnly, deferrable);
  }

  /** Read-only or not. */
  public TransactionOptions readOnly(boolean wanted) {
    return new TransactionOptions(isolation, wanted, deferrable);
  }

  /** Whether a serializable read-only transaction may wait for a snapshot that cannot conflict. */
  public TransactionOptions deferrable(boolean wanted) {
    return new TransactionOptions(isolation, readOnly, wanted);
  }

  /** The statement that begins such a transaction. */
  String begin() {
    StringBuilder sql = new StringBuilder("BEGIN");
    if (isolation != null) {
      sql.append(" ISOLATION LEVEL ").append(isolation.name().replace('_', ' ').toUpperCase(Locale.ROOT));
    }
    if (readOnly != null) {
      sql.append(readOnly ? " READ ONLY" : " READ WRITE");
    }
    if (deferrable) {
      sql.append(" DEFERRABLE");
    }
    return sql.toString();
  }
}
