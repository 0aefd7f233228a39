package dev.howdah.pg.jdbc;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;

/**
 * The call of a function or procedure.
 *
 * <p>A function returns one row with a column for what it returns and for each parameter that is
 * OUT or INOUT, in their order. What is registered as OUT and has no value is sent as null of type
 * void, which PostgreSQL takes out of the arguments of a function.
 */
final class JdbcCallableStatement extends CallResults {
  private static final Parameter ABSENT = new Parameter(null, "void", "void");

  /** How many placeholders of what was written are not in the statement. */
  private final int shift;

  /** The parameters that the call returns, by their numbers. */
  private final TreeSet<Integer> out = new TreeSet<>();

  private final boolean isProcedure;
  private ResultSet result;

  JdbcCallableStatement(
      JdbcConnection connection, ResultSetKind kind, CallSyntax call, ParsedSql parsed) {
    super(connection, kind, parsed);
    this.shift = call.returns() ? 1 : 0;
    this.isProcedure = parsed.isCall();
  }

  @Override
  void set(int index, Parameter parameter) throws SQLException {
    if (index <= shift) {
      throw SqlErrors.error(
          "07009", "parameter 1 is what the function returns; the first that can be set is 2");
    }
    super.set(index - shift, parameter);
  }

  @Override
  boolean takesLargeObject(int index) throws SQLException {
    return super.takesLargeObject(index - shift);
  }

  @Override
  Parameter missing(int index) throws SQLException {
    if (!out.contains(index + shift)) {
      return super.missing(index);
    }
    return isProcedure ? Parameter.NULL : ABSENT;
  }

  @Override
  public void registerOutParameter(int index, int type) throws SQLException {
    checkOpen();
    if (index < 1 || index > shift + parameterCount()) {
      throw SqlErrors.error(
          "07009",
          "there is no parameter "
              + index
              + "; the call has "
              + (shift + parameterCount())
              + ", counted from 1");
    }
    out.add(index);
  }

  @Override
  public void registerOutParameter(int index, int type, int scale) throws SQLException {
    registerOutParameter(index, type);
  }

  @Override
  public void registerOutParameter(int index, int type, String name) throws SQLException {
    registerOutParameter(index, type);
  }

  @Override
  public boolean execute() throws SQLException {
    result = null;
    if (shift > 0 && !out.contains(1)) {
      throw SqlErrors.error(
          "07001",
          "parameter 1, which the function returns, was not registered: registerOutParameter(1,"
              + " …)");
    }
    boolean hasRows = super.execute();
    if (out.isEmpty()) {
      return hasRows;
    }
    ResultSet row = rows();
    int columns = row.getMetaData().getColumnCount();
    if (columns != out.size()) {
      throw SqlErrors.error(
          "07001",
          "the call returned "
              + columns
              + " columns, and "
              + out.size()
              + " parameters are registered");
    }
    if (!row.next()) {
      throw SqlErrors.error("02000", "the call returned no row");
    }
    result = row;
    return false;
  }

  @Override
  public long executeLargeUpdate() throws SQLException {
    if (out.isEmpty()) {
      return super.executeLargeUpdate();
    }
    execute();
    return 0;
  }

  @Override
  ResultSet result() throws SQLException {
    checkOpen();
    if (result == null) {
      throw SqlErrors.error(
          "07001",
          "nothing was called yet, or nothing is registered: registerOutParameter, then execute");
    }
    return result;
  }

  @Override
  int column(int index) throws SQLException {
    List<Integer> columns = new ArrayList<>(out);
    int column = columns.indexOf(index);
    if (column < 0) {
      throw SqlErrors.error(
          "07009",
          "parameter " + index + " is not registered: registerOutParameter(" + index + ", …)");
    }
    return column + 1;
  }
}
