package dev.howdah.pg.jdbc;

import java.sql.SQLException;
import java.sql.Savepoint;

/** A place in a transaction to roll back to. */
final class JdbcSavepoint implements Savepoint {
  private final int number;
  private final String name;
  private boolean released;

  /** A savepoint with a number, and a name or null. */
  JdbcSavepoint(int number, String name) {
    this.number = number;
    this.name = name;
  }

  String quoted() throws SQLException {
    if (released) {
      throw SqlErrors.error("3B001", "the savepoint was released");
    }
    return LeastConnection.quoted(name == null ? "howdah_jdbc_" + number : name);
  }

  void release() {
    released = true;
  }

  @Override
  public int getSavepointId() throws SQLException {
    if (name != null) {
      throw SqlErrors.error("3B001", "a savepoint with a name has no number");
    }
    return number;
  }

  @Override
  public String getSavepointName() throws SQLException {
    if (name == null) {
      throw SqlErrors.error("3B001", "a savepoint without a name has a number only");
    }
    return name;
  }
}
