package dev.howdah.pg.jdbc;

import java.sql.SQLException;

/**
 * A large object of the server. Every access is a statement of its own that leaves no descriptor
 * open, so it works outside of a transaction, too.
 */
final class LargeObject implements LobStore {
  private static final int WRITES = 0x20000;
  private static final int READS = 0x40000;

  private final JdbcConnection connection;
  private final long oid;

  LargeObject(JdbcConnection connection, long oid) {
    this.connection = connection;
    this.oid = oid;
  }

  /**
   * Makes one with these bytes. Whoever does so outside of a transaction would leave it behind if
   * nothing refers to it then.
   */
  static LargeObject create(JdbcConnection connection, byte[] bytes) throws SQLException {
    if (connection.getAutoCommit() && !connection.core.inTransaction()) {
      throw SqlErrors.error(
          "25P01",
          "a large object cannot be made while auto-commit is on; call setAutoCommit(false) first");
    }
    return new LargeObject(
        connection,
        connection.within("select lo_from_bytea(0, $1)", (Object) bytes).get(0).getLong(0));
  }

  long oid() {
    return oid;
  }

  /** The value of a function of the object's descriptor, which is closed behind it. */
  private long described(String call, int mode, Object... parameters) throws SQLException {
    Object[] all = new Object[parameters.length + 2];
    all[0] = oid;
    all[1] = mode;
    System.arraycopy(parameters, 0, all, 2, parameters.length);
    // Without the offset the planner would open the object once for each use.
    return connection
        .within(
            "select "
                + call
                + "::int8, lo_close(fd) from (select lo_open($1::oid, $2::int4) as fd offset 0) as"
                + " opened",
            all)
        .get(0)
        .getLong(0);
  }

  @Override
  public long length() throws SQLException {
    return described("lo_lseek64(fd, 0, 2)", READS);
  }

  @Override
  public byte[] read(long offset, int length) throws SQLException {
    return connection
        .within("select lo_get($1::oid, $2::int8, $3::int4)", oid, offset, length)
        .get(0)
        .getBytes(0);
  }

  @Override
  public void write(long offset, byte[] bytes) throws SQLException {
    connection.within("select lo_put($1::oid, $2::int8, $3::bytea)", oid, offset, bytes);
  }

  @Override
  public void truncate(long length) throws SQLException {
    described("lo_truncate64(fd, $3::int8)", READS | WRITES, length);
  }
}
