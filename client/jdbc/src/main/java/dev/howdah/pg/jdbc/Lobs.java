package dev.howdah.pg.jdbc;

import dev.howdah.pg.Row;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.util.Set;

/**
 * Blob and Clob of columns and parameters. A column of type oid has the number of a large object;
 * bytea and text hold the value.
 */
final class Lobs {
  /** The second is a domain of PostgreSQL's contrib, whose triggers delete large objects. */
  private static final Set<String> NUMBERS = Set.of("oid", "lo");

  private Lobs() {}

  /** Whether values of a type are numbers of large objects. */
  static boolean areNumbers(String type) {
    return NUMBERS.contains(type);
  }

  static JdbcBlob blob(Row row, int column, JdbcType type, JdbcConnection connection)
      throws SQLException {
    if (areNumbers(type.name())) {
      return new JdbcBlob(new LargeObject(connection, row.getLong(column)));
    } else if (type.kind() == JdbcType.Kind.BYTES) {
      return new JdbcBlob(new MemoryLob(row.getBytes(column)));
    }
    throw Cells.cannot(row, column, "a Blob");
  }

  /** The text of a column, or the text in UTF-8 that a large object holds. */
  static JdbcClob clob(Row row, int column, JdbcType type, JdbcConnection connection)
      throws SQLException {
    if (!areNumbers(type.name())) {
      return new JdbcClob(row.getString(column));
    }
    try {
      InputStream stream = blob(row, column, type, connection).getBinaryStream();
      return new JdbcClob(new String(stream.readAllBytes(), StandardCharsets.UTF_8));
    } catch (IOException e) {
      throw e.getCause() instanceof SQLException cause
          ? cause
          : SqlErrors.of(e.getMessage(), "58030", e);
    }
  }

  /**
   * A large object with the bytes of a stream, or so many of them, as a parameter. A negative
   * length is all.
   */
  static Parameter number(JdbcConnection connection, InputStream stream, long length)
      throws SQLException {
    long rest = length < 0 ? Long.MAX_VALUE : length;
    LargeObject object = null;
    long written = 0;
    while (object == null || rest > 0) {
      byte[] part = part(stream, (int) Math.min(JdbcBlob.CHUNK, rest));
      if (object == null) {
        object = LargeObject.create(connection, part);
      } else if (part.length > 0) {
        object.write(written, part);
      }
      written += part.length;
      rest = part.length == 0 ? 0 : rest - part.length;
    }
    Streams.checkWhole(written, length);
    return new Parameter(object.oid(), "oid", "oid");
  }

  private static byte[] part(InputStream stream, int length) throws SQLException {
    try {
      return stream.readNBytes(length);
    } catch (IOException e) {
      throw Streams.failed("stream", e);
    }
  }

  static InputStream utf8(String text) {
    return new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8));
  }
}
