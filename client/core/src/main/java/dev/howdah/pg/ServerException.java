package dev.howdah.pg;

/** The server refused a statement. Every field of its message is in {@link #server}. */
public class ServerException extends PgException {
  private static final long serialVersionUID = 1;

  private final transient ServerMessage server;
  private final String sql;

  /** An error of the server, for a statement that is known or null. */
  public ServerException(ServerMessage server, String sql) {
    this(server, sql, null);
  }

  /** An error of the server with advice on what to do. */
  public ServerException(ServerMessage server, String sql, String advice) {
    super(server.sqlState(), server.describe(sql) + (advice == null ? "" : "\n  " + advice));
    this.server = server;
    this.sql = sql;
  }

  /** The statement that was refused; null if it was none, or is not known. */
  public String sql() {
    return sql;
  }

  /** The server's message. */
  public ServerMessage server() {
    return server;
  }
}
