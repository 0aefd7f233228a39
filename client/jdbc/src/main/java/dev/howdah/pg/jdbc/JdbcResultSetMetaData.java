package dev.howdah.pg.jdbc;

import dev.howdah.pg.Column;
import dev.howdah.pg.Shape;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Types;

/** What is known of a result's columns; their tables are looked up when somebody asks. */
final class JdbcResultSetMetaData implements ResultSetMetaData {
  private final JdbcConnection connection;
  private final Shape shape;

  JdbcResultSetMetaData(JdbcConnection connection, Shape shape) {
    this.connection = connection;
    this.shape = shape;
  }

  private Column column(int index) throws SQLException {
    if (index < 1 || index > shape.size()) {
      throw SqlErrors.error(
          "07009",
          "there is no column " + index + "; there are " + shape.size() + ", counted from 1");
    }
    return shape.columns().get(index - 1);
  }

  private JdbcType type(int index) throws SQLException {
    return JdbcType.of(column(index).codec().name());
  }

  private Catalog.Table table(int index) throws SQLException {
    return connection.catalog().table(column(index).table());
  }

  /** The column of a table that this one shows; null for an expression. */
  private Catalog.Attribute attribute(int index) throws SQLException {
    return table(index).attributes().get(column(index).attribute());
  }

  @Override
  public int getColumnCount() {
    return shape.size();
  }

  @Override
  public String getColumnLabel(int index) throws SQLException {
    return column(index).name();
  }

  /** The label, as libraries that were made for PostgreSQL expect. */
  @Override
  public String getColumnName(int index) throws SQLException {
    return column(index).name();
  }

  @Override
  public String getTableName(int index) throws SQLException {
    return table(index).name();
  }

  @Override
  public String getSchemaName(int index) throws SQLException {
    return table(index).schema();
  }

  @Override
  public String getCatalogName(int index) throws SQLException {
    column(index);
    return "";
  }

  @Override
  public int getColumnType(int index) throws SQLException {
    return type(index).number();
  }

  @Override
  public String getColumnTypeName(int index) throws SQLException {
    return type(index).name();
  }

  @Override
  public String getColumnClassName(int index) throws SQLException {
    return type(index).value().getName();
  }

  @Override
  public int getPrecision(int index) throws SQLException {
    return type(index).precision(column(index).modifier());
  }

  @Override
  public int getScale(int index) throws SQLException {
    return type(index).scale(column(index).modifier());
  }

  @Override
  public int getColumnDisplaySize(int index) throws SQLException {
    int precision = getPrecision(index);
    boolean number = getColumnType(index) == Types.NUMERIC || type(index).isSigned();
    return precision == 0 ? Integer.MAX_VALUE : number ? precision + 2 : precision;
  }

  @Override
  public int isNullable(int index) throws SQLException {
    Catalog.Attribute attribute = attribute(index);
    return attribute == null
        ? columnNullableUnknown
        : attribute.notNull() ? columnNoNulls : columnNullable;
  }

  @Override
  public boolean isAutoIncrement(int index) throws SQLException {
    Catalog.Attribute attribute = attribute(index);
    return attribute != null && attribute.generated();
  }

  @Override
  public boolean isCaseSensitive(int index) throws SQLException {
    return switch (type(index).kind()) {
      case TEXT -> !type(index).name().equals("citext");
      case OTHER, BYTES, ARRAY -> true;
      default -> false;
    };
  }

  @Override
  public boolean isSearchable(int index) throws SQLException {
    column(index);
    return true;
  }

  @Override
  public boolean isCurrency(int index) throws SQLException {
    return type(index).name().equals("money");
  }

  @Override
  public boolean isSigned(int index) throws SQLException {
    return type(index).isSigned();
  }

  @Override
  public boolean isReadOnly(int index) throws SQLException {
    column(index);
    return true;
  }

  @Override
  public boolean isWritable(int index) throws SQLException {
    column(index);
    return false;
  }

  @Override
  public boolean isDefinitelyWritable(int index) throws SQLException {
    column(index);
    return false;
  }

  @Override
  public <T> T unwrap(Class<T> wanted) throws SQLException {
    return SqlErrors.unwrap(wanted, this, shape);
  }

  @Override
  public boolean isWrapperFor(Class<?> wanted) {
    return wanted.isInstance(this) || wanted.isInstance(shape);
  }
}
