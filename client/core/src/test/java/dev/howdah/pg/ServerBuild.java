package dev.howdah.pg;

/**
 * What some builds of PostgreSQL lack: extensions of contrib, libxml, OpenSSL. A test leaves out
 * what needs it, there alone, and says so.
 */
public final class ServerBuild {
  private ServerBuild() {}

  /** Makes the extension if this PostgreSQL brings it; otherwise says what the test leaves out. */
  public static boolean makesExtension(Connection connection, String name, String leftOut) {
    if (connection
        .query("select name from pg_available_extensions where name = $1", name)
        .isEmpty()) {
      return skip(leftOut, "this PostgreSQL has no extension " + name);
    }
    connection.script("create extension if not exists " + name);
    return true;
  }

  /** Whether this PostgreSQL was built with libxml; otherwise says what the test leaves out. */
  public static boolean readsXml(Connection connection, String leftOut) {
    try {
      connection.query("select '<a/>'::xml");
      return true;
    } catch (ServerException e) {
      if (!e.sqlState().equals("0A000")) {
        throw e;
      }
      return skip(leftOut, e.getMessage());
    }
  }

  /** Whether this PostgreSQL was built with TLS; otherwise says what the test leaves out. */
  public static boolean speaksTls(Connection connection, String leftOut) {
    return !connection.first("select current_setting('ssl_library')").getString(0).isEmpty()
        || skip(leftOut, "this PostgreSQL was built without TLS");
  }

  private static boolean skip(String leftOut, String reason) {
    System.err.println("SKIPPED: " + leftOut + ": " + reason);
    return false;
  }
}
