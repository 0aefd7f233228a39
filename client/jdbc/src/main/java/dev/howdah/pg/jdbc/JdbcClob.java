package dev.howdah.pg.jdbc;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.Reader;
import java.io.StringReader;
import java.io.StringWriter;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.sql.Clob;
import java.sql.NClob;
import java.sql.SQLException;

/**
 * A text as JDBC's Clob, in memory: changes reach the server when it is set as a parameter.
 * Positions count from 1.
 */
final class JdbcClob implements NClob {
  private StringBuilder text;

  JdbcClob(String text) {
    this.text = new StringBuilder(text);
  }

  private StringBuilder text() throws SQLException {
    if (text == null) {
      throw SqlErrors.error("55000", "the Clob was freed");
    }
    return text;
  }

  private int index(long position) throws SQLException {
    return (int) Math.min(text().length(), JdbcBlob.offset(position));
  }

  @Override
  public long length() throws SQLException {
    return text().length();
  }

  @Override
  public String getSubString(long position, int length) throws SQLException {
    JdbcBlob.checkLength(length);
    int from = index(position);
    return text().substring(from, (int) Math.min(text().length(), (long) from + length));
  }

  @Override
  public Reader getCharacterStream() throws SQLException {
    return new StringReader(text().toString());
  }

  @Override
  public Reader getCharacterStream(long position, long length) throws SQLException {
    JdbcBlob.checkLength(length);
    return new StringReader(getSubString(position, (int) Math.min(Integer.MAX_VALUE, length)));
  }

  @Override
  public InputStream getAsciiStream() throws SQLException {
    return new ByteArrayInputStream(text().toString().getBytes(StandardCharsets.US_ASCII));
  }

  @Override
  public long position(String part, long start) throws SQLException {
    int found = JdbcBlob.offset(start) > text().length() ? -1 : text().indexOf(part, index(start));
    return found < 0 ? -1 : found + 1;
  }

  @Override
  public long position(Clob part, long start) throws SQLException {
    return position(part.getSubString(1, Math.toIntExact(part.length())), start);
  }

  @Override
  public int setString(long position, String part) throws SQLException {
    long from = JdbcBlob.offset(position);
    if (from > text().length()) {
      throw SqlErrors.error(
          "22023",
          "the Clob has "
              + text().length()
              + " characters; there is no position "
              + position
              + " to write at");
    }
    text().replace((int) from, Math.min(text().length(), (int) from + part.length()), part);
    return part.length();
  }

  @Override
  public int setString(long position, String part, int offset, int length) throws SQLException {
    return setString(position, part.substring(offset, offset + length));
  }

  @Override
  public OutputStream setAsciiStream(long position) throws SQLException {
    index(position);
    return new ByteArrayOutputStream() {
      @Override
      public void close() throws IOException {
        put(position, toString(StandardCharsets.US_ASCII));
      }
    };
  }

  @Override
  public Writer setCharacterStream(long position) throws SQLException {
    index(position);
    return new StringWriter() {
      @Override
      public void close() throws IOException {
        put(position, toString());
      }
    };
  }

  private void put(long position, String part) throws IOException {
    try {
      setString(position, part);
    } catch (SQLException e) {
      throw new IOException(e.getMessage(), e);
    }
  }

  @Override
  public void truncate(long length) throws SQLException {
    JdbcBlob.checkLength(length);
    text().setLength((int) Math.min(text().length(), length));
  }

  @Override
  public void free() {
    text = null;
  }
}
