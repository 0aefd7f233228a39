package dev.howdah.pg;

/**
 * A connection could not be made, broke, or brought bytes that make no sense. It cannot be used any
 * more.
 */
public class ConnectionException extends PgException {
  private static final long serialVersionUID = 1;

  /** A broken connection. */
  public ConnectionException(String message) {
    super("08006", message);
  }

  /** A broken connection and why. */
  public ConnectionException(String message, Throwable cause) {
    super("08006", message, cause);
  }

  private ConnectionException(String sqlState, String message, Throwable cause) {
    super(sqlState, message, cause);
  }

  /** The connection was lost while it committed. */
  static ConnectionException duringCommit(ConnectionException cause) {
    return new ConnectionException(
        "08007",
        cause.getMessage() + "; whether the transaction was committed is not known",
        cause);
  }
}
