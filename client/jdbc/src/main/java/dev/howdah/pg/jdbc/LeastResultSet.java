package dev.howdah.pg.jdbc;

import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.io.Reader;
import java.io.StringReader;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.net.MalformedURLException;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.sql.Clob;
import java.sql.Date;
import java.sql.Ref;
import java.sql.RowId;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.sql.SQLXML;
import java.sql.Time;
import java.sql.Timestamp;
import java.util.Map;

/** What of a result set follows from the rest of it, and what is refused. */
abstract class LeastResultSet extends LabelledResultSet {
  abstract void checkOpen() throws SQLException;

  static void checkDirection(int direction) throws SQLException {
    if (direction != FETCH_FORWARD && direction != FETCH_REVERSE && direction != FETCH_UNKNOWN) {
      throw SqlErrors.error("22023", "there is no fetch direction " + direction);
    }
  }

  @Override
  @Deprecated
  public BigDecimal getBigDecimal(int column, int scale) throws SQLException {
    BigDecimal value = getBigDecimal(column);
    return value == null ? null : value.setScale(scale, RoundingMode.HALF_UP);
  }

  @Override
  public Date getDate(int column) throws SQLException {
    return getDate(column, null);
  }

  @Override
  public Time getTime(int column) throws SQLException {
    return getTime(column, null);
  }

  @Override
  public Timestamp getTimestamp(int column) throws SQLException {
    return getTimestamp(column, null);
  }

  @Override
  public Object getObject(int column, Map<String, Class<?>> map) throws SQLException {
    JdbcArray.noTypes(map);
    return getObject(column);
  }

  @Override
  public InputStream getBinaryStream(int column) throws SQLException {
    byte[] bytes = getBytes(column);
    return bytes == null ? null : new ByteArrayInputStream(bytes);
  }

  @Override
  public InputStream getAsciiStream(int column) throws SQLException {
    String text = getString(column);
    return text == null ? null : new ByteArrayInputStream(text.getBytes(StandardCharsets.US_ASCII));
  }

  @Override
  @Deprecated
  public InputStream getUnicodeStream(int column) throws SQLException {
    String text = getString(column);
    return text == null ? null : new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8));
  }

  @Override
  public Reader getCharacterStream(int column) throws SQLException {
    String text = getString(column);
    return text == null ? null : new StringReader(text);
  }

  @Override
  public Reader getNCharacterStream(int column) throws SQLException {
    return getCharacterStream(column);
  }

  @Override
  public String getNString(int column) throws SQLException {
    return getString(column);
  }

  @Override
  public URL getURL(int column) throws SQLException {
    String text = getString(column);
    try {
      return text == null ? null : new URL(text);
    } catch (MalformedURLException e) {
      throw SqlErrors.of("not a URL: " + text, "22018", e);
    }
  }

  @Override
  public Clob getClob(int column) throws SQLException {
    return getNClob(column);
  }

  @Override
  public SQLXML getSQLXML(int column) throws SQLException {
    throw Refusals.xml();
  }

  @Override
  public Ref getRef(int column) throws SQLException {
    throw Refusals.reference();
  }

  @Override
  public RowId getRowId(int column) throws SQLException {
    throw Refusals.rowId();
  }

  @Override
  public boolean previous() throws SQLException {
    return relative(-1);
  }

  @Override
  public boolean first() throws SQLException {
    return absolute(1);
  }

  @Override
  public boolean last() throws SQLException {
    return absolute(-1);
  }

  @Override
  public void beforeFirst() throws SQLException {
    absolute(0);
  }

  @Override
  public void setFetchDirection(int direction) throws SQLException {
    checkOpen();
    checkDirection(direction);
  }

  @Override
  public int getFetchDirection() throws SQLException {
    checkOpen();
    return FETCH_FORWARD;
  }

  @Override
  public boolean rowUpdated() throws SQLException {
    checkOpen();
    return false;
  }

  @Override
  public boolean rowInserted() throws SQLException {
    checkOpen();
    return false;
  }

  @Override
  public boolean rowDeleted() throws SQLException {
    checkOpen();
    return false;
  }

  @Override
  public SQLWarning getWarnings() throws SQLException {
    checkOpen();
    return null;
  }

  @Override
  public void clearWarnings() throws SQLException {
    checkOpen();
  }

  @Override
  public String getCursorName() throws SQLException {
    throw SqlErrors.unsupported("a name for the cursor", "declare a cursor in SQL");
  }
}
