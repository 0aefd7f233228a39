package dev.howdah.pg.jdbc;

import dev.howdah.pg.Description;
import java.sql.ParameterMetaData;
import java.sql.SQLException;
import java.util.List;

/** What the server infers of a statement's parameters. */
final class JdbcParameterMetaData implements ParameterMetaData {
  private final List<Description.Parameter> parameters;

  JdbcParameterMetaData(List<Description.Parameter> parameters) {
    this.parameters = parameters;
  }

  private JdbcType type(int index) throws SQLException {
    if (index < 1 || index > parameters.size()) {
      throw SqlErrors.error(
          "07009", "there is no parameter " + index + "; the statement has " + parameters.size());
    }
    return JdbcType.of(parameters.get(index - 1).codec().name());
  }

  @Override
  public int getParameterCount() {
    return parameters.size();
  }

  @Override
  public int isNullable(int index) throws SQLException {
    type(index);
    return parameterNullableUnknown;
  }

  @Override
  public boolean isSigned(int index) throws SQLException {
    return type(index).isSigned();
  }

  @Override
  public int getPrecision(int index) throws SQLException {
    return type(index).precision(-1);
  }

  @Override
  public int getScale(int index) throws SQLException {
    return type(index).scale(-1);
  }

  @Override
  public int getParameterType(int index) throws SQLException {
    return type(index).number();
  }

  @Override
  public String getParameterTypeName(int index) throws SQLException {
    return type(index).name();
  }

  @Override
  public String getParameterClassName(int index) throws SQLException {
    return type(index).value().getName();
  }

  @Override
  public int getParameterMode(int index) throws SQLException {
    type(index);
    return parameterModeIn;
  }

  @Override
  public <T> T unwrap(Class<T> wanted) throws SQLException {
    return SqlErrors.unwrap(wanted, this);
  }

  @Override
  public boolean isWrapperFor(Class<?> wanted) {
    return wanted.isInstance(this);
  }
}
