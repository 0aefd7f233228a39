package dev.howdah.pg.jdbc;

import dev.howdah.pg.Description;
import java.sql.ParameterMetaData;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** A statement with placeholders and their values. */
class JdbcPreparedStatement extends ParameterSetters {
  private final ParsedSql parsed;

  /** The columns to return as generated keys, or null. */
  private final String returning;

  private final Parameter[] parameters;

  /** What the server expects as parameters, once it was asked. */
  private List<Description.Parameter> expected;

  private final List<Batch.Item> batch = new ArrayList<>();

  JdbcPreparedStatement(
      JdbcConnection connection, ResultSetKind kind, ParsedSql parsed, String returning) {
    super(connection, kind);
    this.parsed = parsed;
    this.returning = returning;
    this.parameters = new Parameter[parsed.parameters()];
  }

  @Override
  boolean isPlain() {
    return false;
  }

  @Override
  void set(int index, Parameter parameter) throws SQLException {
    checkOpen();
    if (index < 1 || index > parameters.length) {
      throw SqlErrors.error(
          "07009",
          "there is no parameter "
              + index
              + "; the statement has "
              + parameters.length
              + ", counted from 1");
    }
    parameters[index - 1] = parameter;
  }

  @Override
  public void clearParameters() throws SQLException {
    checkOpen();
    Arrays.fill(parameters, null);
  }

  final int parameterCount() {
    return parameters.length;
  }

  /** What is sent for a parameter that was not set. */
  Parameter missing(int index) throws SQLException {
    throw SqlErrors.error("07001", "parameter " + index + " was not set");
  }

  private List<Parameter> parameters() throws SQLException {
    Parameter[] all = parameters.clone();
    for (int i = 0; i < all.length; i++) {
      if (all[i] == null) {
        all[i] = missing(i + 1);
      }
    }
    return List.of(all);
  }

  private void run() throws SQLException {
    run(parsed, parameters(), returning);
  }

  @Override
  public boolean execute() throws SQLException {
    run();
    return hasRows();
  }

  @Override
  public ResultSet executeQuery() throws SQLException {
    run();
    return rows();
  }

  @Override
  public int executeUpdate() throws SQLException {
    long count = executeLargeUpdate();
    if (count > Integer.MAX_VALUE) {
      throw SqlErrors.error("22003", count + " rows do not fit an int; use executeLargeUpdate");
    }
    return (int) count;
  }

  @Override
  public long executeLargeUpdate() throws SQLException {
    run();
    return count();
  }

  @Override
  public void addBatch() throws SQLException {
    checkOpen();
    batch.add(
        new Batch.Item(returning == null ? parsed : parsed.returning(returning), parameters()));
  }

  @Override
  public void clearBatch() throws SQLException {
    super.clearBatch();
    batch.clear();
  }

  @Override
  public long[] executeLargeBatch() throws SQLException {
    begin();
    List<Batch.Item> items = List.copyOf(batch);
    batch.clear();
    return runBatch(items, returning != null);
  }

  /** The server's description of the statement, which it prepares for that and does not run. */
  private Description describe() throws SQLException {
    checkOpen();
    ParsedSql asked = returning == null ? parsed : parsed.returning(returning);
    return connection.run(null, () -> connection.core.describe(asked.text()));
  }

  @Override
  boolean takesLargeObject(int index) throws SQLException {
    if (expected == null) {
      expected = describe().parameters();
    }
    return index >= 1
        && index <= expected.size()
        && Lobs.areNumbers(expected.get(index - 1).codec().name());
  }

  @Override
  public ResultSetMetaData getMetaData() throws SQLException {
    Description description = describe();
    return description.shape().size() == 0
        ? null
        : new JdbcResultSetMetaData(connection, description.shape());
  }

  @Override
  public ParameterMetaData getParameterMetaData() throws SQLException {
    return new JdbcParameterMetaData(describe().parameters());
  }

  @Override
  public String toString() {
    return parsed.text();
  }
}
