package dev.howdah.pg.jdbc;

import dev.howdah.pg.PgException;
import dev.howdah.pg.PgTimeoutException;
import java.sql.SQLDataException;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.sql.SQLIntegrityConstraintViolationException;
import java.sql.SQLInvalidAuthorizationSpecException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.SQLRecoverableException;
import java.sql.SQLSyntaxErrorException;
import java.sql.SQLTimeoutException;
import java.sql.SQLTransactionRollbackException;
import java.sql.SQLTransientConnectionException;

/**
 * Makes the SQLException that JDBC's users expect of what went wrong; the client's own exception is
 * its cause.
 */
final class SqlErrors {
  private SqlErrors() {}

  /** Work that may throw what JDBC throws. */
  @FunctionalInterface
  interface Work<T> {
    T run() throws SQLException;
  }

  /** Runs work and turns the client's exceptions into JDBC's. */
  static <T> T translated(Work<T> work) throws SQLException {
    try {
      return work.run();
    } catch (PgException e) {
      throw of(e);
    } catch (IllegalArgumentException | ArithmeticException | java.time.DateTimeException e) {
      throw new SQLDataException(e.getMessage(), "22000", e);
    }
  }

  static SQLException of(PgException error) {
    if (error instanceof PgTimeoutException) {
      return new SQLTimeoutException(error.getMessage(), error.sqlState(), error);
    }
    return of(error.getMessage(), error.sqlState(), error);
  }

  static SQLException of(String message, String state, Throwable cause) {
    switch (state) {
      case "53300", "57P03" -> {
        return new SQLTransientConnectionException(message, state, cause);
      }
      case "57P01", "57P02" -> {
        return new SQLRecoverableException(message, state, cause);
      }
      default -> {
        return byClass(message, state, cause);
      }
    }
  }

  private static SQLException byClass(String message, String state, Throwable cause) {
    return switch (state.substring(0, Math.min(2, state.length()))) {
      case "08" -> new SQLNonTransientConnectionException(message, state, cause);
      case "0A" -> new SQLFeatureNotSupportedException(message, state, cause);
      case "22" -> new SQLDataException(message, state, cause);
      case "23" -> new SQLIntegrityConstraintViolationException(message, state, cause);
      case "28" -> new SQLInvalidAuthorizationSpecException(message, state, cause);
      case "40" -> new SQLTransactionRollbackException(message, state, cause);
      case "42" -> new SQLSyntaxErrorException(message, state, cause);
      default -> new SQLException(message, state, cause);
    };
  }

  /** An error that is found here, without the server. */
  static SQLException error(String state, String message) {
    return of(message, state, null);
  }

  /**
   * What ODBC calls a function that the driver does not support. HikariCP closes a connection at
   * the server's own 0A000, with the transaction that is under way on it.
   */
  private static final String UNSUPPORTED = "IM001";

  /**
   * The refusal of something that JDBC has and this driver has not. It leaves the connection and
   * the transaction as they are.
   */
  static SQLFeatureNotSupportedException unsupported(String what, String instead) {
    return new SQLFeatureNotSupportedException(what + " is not supported; " + instead, UNSUPPORTED);
  }

  /** What {@link java.sql.Wrapper#unwrap} does for an object that stands for some others. */
  static <T> T unwrap(Class<T> wanted, Object... candidates) throws SQLException {
    for (Object candidate : candidates) {
      if (wanted.isInstance(candidate)) {
        return wanted.cast(candidate);
      }
    }
    throw error("22023", "this object does not wrap a " + wanted.getName());
  }
}
