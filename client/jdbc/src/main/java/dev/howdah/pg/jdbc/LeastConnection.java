package dev.howdah.pg.jdbc;

import java.sql.Array;
import java.sql.Blob;
import java.sql.CallableStatement;
import java.sql.ClientInfoStatus;
import java.sql.Clob;
import java.sql.Connection;
import java.sql.NClob;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLClientInfoException;
import java.sql.SQLException;
import java.sql.SQLXML;
import java.sql.Statement;
import java.sql.Struct;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.stream.Collectors;

/** What of a connection follows from the rest of it, and what is refused. */
abstract class LeastConnection implements Connection {
  private static final String APPLICATION_NAME = "ApplicationName";
  private int holdability = ResultSet.CLOSE_CURSORS_AT_COMMIT;

  abstract void checkOpen() throws SQLException;

  abstract PreparedStatement prepareReturning(String sql, String columns) throws SQLException;

  abstract dev.howdah.pg.Result ask(String sql, Object... parameters) throws SQLException;

  abstract String typeName(String name) throws SQLException;

  abstract JdbcConnection self();

  @Override
  public Statement createStatement() throws SQLException {
    return createStatement(ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_READ_ONLY);
  }

  @Override
  public Statement createStatement(int type, int concurrency) throws SQLException {
    return createStatement(type, concurrency, holdability);
  }

  @Override
  public PreparedStatement prepareStatement(String sql) throws SQLException {
    return prepareStatement(sql, ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_READ_ONLY);
  }

  @Override
  public PreparedStatement prepareStatement(String sql, int type, int concurrency)
      throws SQLException {
    return prepareStatement(sql, type, concurrency, holdability);
  }

  @Override
  public PreparedStatement prepareStatement(String sql, int keys) throws SQLException {
    return keys == Statement.RETURN_GENERATED_KEYS
        ? prepareReturning(sql, "*")
        : prepareStatement(sql);
  }

  @Override
  public PreparedStatement prepareStatement(String sql, int[] columns) throws SQLException {
    throw SqlErrors.unsupported("asking for generated keys by column number", "name the columns");
  }

  @Override
  public PreparedStatement prepareStatement(String sql, String[] columns) throws SQLException {
    return columns == null || columns.length == 0
        ? prepareStatement(sql)
        : prepareReturning(sql, quoted(columns));
  }

  static String quoted(String[] names) {
    return Arrays.stream(names).map(LeastConnection::quoted).collect(Collectors.joining(", "));
  }

  static String quoted(String name) {
    return '"' + name.replace("\"", "\"\"") + '"';
  }

  @Override
  public CallableStatement prepareCall(String sql) throws SQLException {
    return prepareCall(sql, ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_READ_ONLY);
  }

  @Override
  public CallableStatement prepareCall(String sql, int type, int concurrency) throws SQLException {
    return prepareCall(sql, type, concurrency, getHoldability());
  }

  @Override
  public void setHoldability(int wanted) throws SQLException {
    checkOpen();
    ResultSetKind.of(ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_READ_ONLY, wanted);
    holdability = wanted;
  }

  @Override
  public int getHoldability() throws SQLException {
    checkOpen();
    return holdability;
  }

  /**
   * The database; a connection stays with one, so setting another is without effect, as JDBC
   * allows.
   */
  @Override
  public String getCatalog() throws SQLException {
    return ask("select current_database()").get(0).getString(0);
  }

  @Override
  public void setCatalog(String database) throws SQLException {
    checkOpen();
  }

  @Override
  public String getSchema() throws SQLException {
    return ask("select current_schema()").get(0).getString(0);
  }

  @Override
  public void setSchema(String schema) throws SQLException {
    ask(
        "select set_config('search_path', $1, false)",
        schema == null ? "\"$user\", public" : quoted(schema));
  }

  @Override
  public Map<String, Class<?>> getTypeMap() throws SQLException {
    checkOpen();
    return Map.of();
  }

  @Override
  public void setTypeMap(Map<String, Class<?>> types) throws SQLException {
    checkOpen();
    if (types != null && !types.isEmpty()) {
      throw SqlErrors.unsupported(
          "a map of types", "register a codec with the client's TypeOptions");
    }
  }

  @Override
  public void setClientInfo(String name, String value) throws SQLClientInfoException {
    if (!APPLICATION_NAME.equals(name)) {
      throw new SQLClientInfoException(
          "there is no client info " + name + " but " + APPLICATION_NAME,
          Map.of(String.valueOf(name), ClientInfoStatus.REASON_UNKNOWN_PROPERTY));
    }
    try {
      ask("select set_config('application_name', $1, false)", value == null ? "" : value);
    } catch (SQLException e) {
      throw new SQLClientInfoException(
          e.getMessage(), e.getSQLState(), Map.of(name, ClientInfoStatus.REASON_UNKNOWN), e);
    }
  }

  @Override
  public void setClientInfo(Properties properties) throws SQLClientInfoException {
    for (String name : properties.stringPropertyNames()) {
      setClientInfo(name, properties.getProperty(name));
    }
  }

  @Override
  public String getClientInfo(String name) throws SQLException {
    checkOpen();
    return APPLICATION_NAME.equals(name) ? self().core.parameter("application_name") : null;
  }

  @Override
  public Properties getClientInfo() throws SQLException {
    Properties properties = new Properties();
    String name = getClientInfo(APPLICATION_NAME);
    if (name != null) {
      properties.setProperty(APPLICATION_NAME, name);
    }
    return properties;
  }

  @Override
  public Array createArrayOf(String type, Object[] elements) throws SQLException {
    String name = typeName(type);
    List<Object> values = elements == null ? List.of() : Arrays.asList(elements);
    return new JdbcArray(self(), name, values, ArrayText.sent(values));
  }

  @Override
  public Blob createBlob() throws SQLException {
    checkOpen();
    return new JdbcBlob(new MemoryLob(new byte[0]));
  }

  @Override
  public Clob createClob() throws SQLException {
    return createNClob();
  }

  @Override
  public NClob createNClob() throws SQLException {
    checkOpen();
    return new JdbcClob("");
  }

  @Override
  public SQLXML createSQLXML() throws SQLException {
    throw Refusals.xml();
  }

  @Override
  public Struct createStruct(String type, Object[] attributes) throws SQLException {
    throw Refusals.struct();
  }
}
