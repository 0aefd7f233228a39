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

  /** The five-character SQLSTATE: the server's own, or the standard's for what the client found. */
  public String sqlState() {
    return sqlState;
  }
}
