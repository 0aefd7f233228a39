package dev.howdah.pg;

/**
 * The server was reached, and we do not authenticate as it asks. Another host is not tried: it
 * would ask for the same password.
 */
final class AuthenticationException extends ConnectionException {
  private static final long serialVersionUID = 1;

  AuthenticationException(ConnectionException cause) {
    super(cause.getMessage(), cause);
  }
}
