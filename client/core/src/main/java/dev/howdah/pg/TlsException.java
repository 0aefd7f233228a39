package dev.howdah.pg;

/** The server was reached, and TLS with it failed. */
final class TlsException extends ConnectionException {
  private static final long serialVersionUID = 1;

  TlsException(String message, Throwable cause) {
    super(message, cause);
  }
}
