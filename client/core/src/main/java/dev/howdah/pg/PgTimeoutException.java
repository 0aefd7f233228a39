package dev.howdah.pg;

/**
 * A time limit passed; the message names the setting that gave it. The connection can be used on.
 */
public class PgTimeoutException extends PgException {
  private static final long serialVersionUID = 1;

  /** A passed limit. */
  public PgTimeoutException(String message) {
    super("57014", message);
  }

  /** A passed limit, with what the server said of the cancelled work. */
  public PgTimeoutException(String message, Throwable cause) {
    super("57014", message, cause);
  }
}
