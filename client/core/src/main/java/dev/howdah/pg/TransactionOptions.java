package dev.howdah.pg;

import java.util.Locale;

/** How a transaction is begun. Immutable: each setter returns another object. */
public final class TransactionOptions {
  /** What the database's settings say. */
  public static final TransactionOptions DEFAULT = new TransactionOptions(null, null, false, false);

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
  private final boolean rollback;

  private TransactionOptions(
      Isolation isolation, Boolean readOnly, boolean deferrable, boolean rollback) {
    this.isolation = isolation;
    this.readOnly = readOnly;
    this.deferrable = deferrable;
    this.rollback = rollback;
  }

  /** With an isolation level. */
  public TransactionOptions isolation(Isolation level) {
    return new TransactionOptions(level, readOnly, deferrable, rollback);
  }

  /** Read-only or not. */
  public TransactionOptions readOnly(boolean wanted) {
    return new TransactionOptions(isolation, wanted, deferrable, rollback);
  }

  /** Whether a serializable read-only transaction may wait for a snapshot that cannot conflict. */
  public TransactionOptions deferrable(boolean wanted) {
    return new TransactionOptions(isolation, readOnly, wanted, rollback);
  }

  /**
   * Whether {@link Source#transaction} takes back what its work did though it returned, as tests
   * want it.
   */
  public TransactionOptions rollback(boolean wanted) {
    return new TransactionOptions(isolation, readOnly, deferrable, wanted);
  }

  boolean rollback() {
    return rollback;
  }

  /** The statement that begins such a transaction. */
  String begin() {
    StringBuilder sql = new StringBuilder("BEGIN");
    if (isolation != null) {
      sql.append(" ISOLATION LEVEL ")
          .append(isolation.name().replace('_', ' ').toUpperCase(Locale.ROOT));
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
