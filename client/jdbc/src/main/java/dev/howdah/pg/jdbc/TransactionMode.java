package dev.howdah.pg.jdbc;

import java.sql.Connection;
import java.sql.SQLException;

/**
 * What a connection has been told about transactions. Nothing is sent when it is told: a
 * transaction is begun with its first statement, and statements outside of transactions get what
 * they need before the next.
 */
final class TransactionMode {
  /** What JDBC knows as the driver's default; the server's settings say what it is. */
  private static final int UNSET = -1;

  private boolean autoCommit = true;
  private int isolation = UNSET;
  private boolean readOnly;

  /** What the session does by itself, so far as it was changed here. */
  private int sessionIsolation = UNSET;

  private boolean sessionReadOnly;
  private String begin = "BEGIN";

  boolean autoCommit() {
    return autoCommit;
  }

  void autoCommit(boolean wanted) {
    autoCommit = wanted;
  }

  boolean readOnly() {
    return readOnly;
  }

  void readOnly(boolean wanted) {
    readOnly = wanted;
    begin = begin();
  }

  /** The level, or -1 for that of the server's settings. */
  int isolation() {
    return isolation;
  }

  void isolation(int level) throws SQLException {
    name(level);
    isolation = level;
    begin = begin();
  }

  private static String name(int level) throws SQLException {
    return switch (level) {
      case Connection.TRANSACTION_READ_UNCOMMITTED -> "READ UNCOMMITTED";
      case Connection.TRANSACTION_READ_COMMITTED -> "READ COMMITTED";
      case Connection.TRANSACTION_REPEATABLE_READ -> "REPEATABLE READ";
      case Connection.TRANSACTION_SERIALIZABLE -> "SERIALIZABLE";
      default ->
          throw SqlErrors.error(
              "22023", "there is no transaction isolation of number " + level + " in PostgreSQL");
    };
  }

  /** The number of a level that the server names. */
  static int level(String name) {
    return switch (name.toLowerCase(java.util.Locale.ROOT)) {
      case "read uncommitted" -> Connection.TRANSACTION_READ_UNCOMMITTED;
      case "repeatable read" -> Connection.TRANSACTION_REPEATABLE_READ;
      case "serializable" -> Connection.TRANSACTION_SERIALIZABLE;
      default -> Connection.TRANSACTION_READ_COMMITTED;
    };
  }

  private String begin() {
    try {
      return "BEGIN"
          + (isolation == UNSET ? "" : " ISOLATION LEVEL " + name(isolation))
          + (readOnly ? " READ ONLY" : sessionReadOnly ? " READ WRITE" : "");
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  /** The statement that begins a transaction, or null where each statement is its own. */
  String opening() {
    return autoCommit ? null : begin;
  }

  /** The same, whether or not statements are their own transactions. */
  String beginning() {
    return begin;
  }

  /**
   * What the session must be told before a statement that is a transaction of its own; null if it
   * knows.
   */
  String pending() throws SQLException {
    if (!autoCommit || isolation == sessionIsolation && readOnly == sessionReadOnly) {
      return null;
    }
    return "SET SESSION CHARACTERISTICS AS TRANSACTION"
        + (isolation == UNSET ? "" : " ISOLATION LEVEL " + name(isolation) + ",")
        + (readOnly ? " READ ONLY" : " READ WRITE");
  }

  /** The session was told. */
  void settled() {
    sessionIsolation = isolation;
    sessionReadOnly = readOnly;
    begin = begin();
  }
}
