package dev.howdah.pg;

/** Anything that goes wrong between a program and PostgreSQL; the subclasses say what. */
public class PgException extends RuntimeException {
  private static final long serialVersionUID = 1;

  private final String sqlState;

  /** An error with a message and a SQLSTATE. */
  public PgException(String sqlState, String message) {
    super(message);
    this.sqlState = sqlState;
  }

  /** An error with a message, a SQLSTATE and a cause. */
  public PgException(String sqlState, String message, Throwable cause) {
    super(message, cause);
    this.sqlState = sqlState;
  }

  /**
   * What a program's own code threw, behind a message if it cannot be thrown as it is: Clojure's
   * functions throw anything.
   */
  static RuntimeException unchecked(String what, Throwable thrown) {
    return thrown instanceof RuntimeException runtime
        ? runtime
        : new PgException("58000", what, thrown);
  }

  /** The five-character SQLSTATE: the server's own, or the standard's for what the client found. */
  public String sqlState() {
    return sqlState;
  }
}
