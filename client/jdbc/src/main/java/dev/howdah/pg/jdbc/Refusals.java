package dev.howdah.pg.jdbc;

import java.sql.SQLFeatureNotSupportedException;

/** The parts of JDBC that PostgreSQL has nothing for, and what to use instead. */
final class Refusals {
  private Refusals() {}

  static SQLFeatureNotSupportedException xml() {
    return SqlErrors.unsupported("SQLXML", "use getString and setString with the type xml");
  }

  static SQLFeatureNotSupportedException struct() {
    return SqlErrors.unsupported(
        "Struct",
        "read a composite with getObject, and send a dev.howdah.pg.types.Composite with setObject");
  }

  static SQLFeatureNotSupportedException reference() {
    return SqlErrors.unsupported("Ref", "PostgreSQL has no references; select by key");
  }

  static SQLFeatureNotSupportedException rowId() {
    return SqlErrors.unsupported("RowId", "select ctid as text, or use a key");
  }

  static SQLFeatureNotSupportedException parameter(String what) {
    return SqlErrors.unsupported(
        "a parameter of " + what, "send bytes, text or one of the client's own types");
  }
}
