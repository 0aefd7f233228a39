package dev.howdah.pg;

import java.io.InputStream;
import java.io.OutputStream;
import java.util.List;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * What runs statements: a {@link Connection}, or a {@link Pool}, which lends a connection for the
 * length of each call.
 *
 * <p>Parameters are $1, $2 and so on. Where no {@link Options} are given, the connection's settings
 * count.
 */
public sealed interface Source permits Connection, Pool {
  /** Runs work with a connection. */
  <T> T with(Function<Connection, T> work);

  /** Runs a statement in a certain way and returns all its rows. */
  Result query(Options options, String sql, Object... parameters);

  /** Runs a statement and returns all its rows. */
  default Result query(String sql, Object... parameters) {
    return query(Options.DEFAULT, sql, parameters);
  }

  /** Runs a statement; returns the number of rows it inserted, updated, deleted or returned. */
  default long execute(Options options, String sql, Object... parameters) {
    return query(options, sql, parameters).count();
  }

  /** Runs a statement, see {@link #execute(Options, String, Object...)}. */
  default long execute(String sql, Object... parameters) {
    return execute(Options.DEFAULT, sql, parameters);
  }

  /** The first row of a statement, with bytes of its own, or null. */
  default Row first(Options options, String sql, Object... parameters) {
    return query(options, sql, parameters).first();
  }

  /** The first row of a statement, with bytes of its own, or null. */
  default Row first(String sql, Object... parameters) {
    return first(Options.DEFAULT, sql, parameters);
  }

  /** Runs several statements without parameters, separated by semicolons; values come as text. */
  List<Result> script(Options options, String sql);

  /** Runs several statements, see {@link #script(Options, String)}. */
  default List<Result> script(String sql) {
    return script(Options.DEFAULT, sql);
  }

  /**
   * Reduces the rows as they come, some at a time, in memory that does not grow with their number.
   * The function may end early by returning a {@link Connection.Reduced}; the server then stops
   * too.
   */
  <A> A reduce(
      Options options,
      A start,
      BiFunction<A, Row, Object> function,
      String sql,
      Object... parameters);

  /** Hands each row to the action as it comes, in memory that does not grow with their number. */
  default void forEach(Consumer<Row> action, String sql, Object... parameters) {
    reduce(
        Options.DEFAULT,
        null,
        (nothing, row) -> {
          action.accept(row);
          return null;
        },
        sql,
        parameters);
  }

  /**
   * Writes the rows as a JSON array of objects while they come, straight from the wire: no row is
   * kept and no value is decoded. A slow reader of the stream slows the server down. Returns the
   * number of rows.
   */
  long writeJson(Options options, OutputStream out, String sql, Object... parameters);

  /** Writes the rows as JSON, see {@link #writeJson(Options, OutputStream, String, Object...)}. */
  default long writeJson(OutputStream out, String sql, Object... parameters) {
    return writeJson(Options.DEFAULT, out, sql, parameters);
  }

  /**
   * The rows as a JSON array of objects, in UTF-8 and in memory: for a body whose length must be
   * known. As no reader of a stream can be slow here, threads that share the connection run it
   * beside each other, as {@link #query(String, Object...)}.
   */
  byte[] json(Options options, String sql, Object... parameters);

  /** The rows as JSON in memory, see {@link #json(Options, String, Object...)}. */
  default byte[] json(String sql, Object... parameters) {
    return json(Options.DEFAULT, sql, parameters);
  }

  /**
   * Writes the rows as an EDN vector of maps while they come, straight from the wire: uuid as
   * #uuid, timestamptz as #inst, json as data. Returns the number of rows.
   */
  long writeEdn(Options options, OutputStream out, String sql, Object... parameters);

  /** Writes the rows as EDN, see {@link #writeEdn(Options, OutputStream, String, Object...)}. */
  default long writeEdn(OutputStream out, String sql, Object... parameters) {
    return writeEdn(Options.DEFAULT, out, sql, parameters);
  }

  /**
   * Writes the rows as CSV while they come: a line of names, then a line for each row, as the
   * server's own COPY ... TO STDOUT (FORMAT csv, HEADER) would, with parameters. Null is empty, an
   * empty text is quoted. Returns the number of rows.
   */
  long writeCsv(Options options, OutputStream out, String sql, Object... parameters);

  /** Writes the rows as CSV, see {@link #writeCsv(Options, OutputStream, String, Object...)}. */
  default long writeCsv(OutputStream out, String sql, Object... parameters) {
    return writeCsv(Options.DEFAULT, out, sql, parameters);
  }

  /**
   * Runs COPY ... FROM STDIN with the bytes of a stream, in the format the statement names; returns
   * the number of rows. A time limit covers what the stream takes too, and is looked at between its
   * pieces.
   */
  long copyIn(Options options, String sql, InputStream data);

  /** Runs COPY ... FROM STDIN, see {@link #copyIn(Options, String, InputStream)}. */
  default long copyIn(String sql, InputStream data) {
    return copyIn(Options.DEFAULT, sql, data);
  }

  /**
   * Runs COPY ... FROM STDIN with rows of values, in the format that the statement names. COPY does
   * not say what the columns' types are, so their names are given. Returns the number of rows.
   */
  long copyIn(
      Options options,
      String sql,
      CopyFormat format,
      List<String> types,
      Iterable<? extends List<?>> rows);

  /**
   * Runs COPY ... FROM STDIN with rows, see {@link #copyIn(Options, String, CopyFormat, List,
   * Iterable)}.
   */
  default long copyIn(
      String sql, CopyFormat format, List<String> types, Iterable<? extends List<?>> rows) {
    return copyIn(Options.DEFAULT, sql, format, types, rows);
  }

  /**
   * Runs COPY ... FROM STDIN WITH (FORMAT binary), see {@link #copyIn(Options, String, CopyFormat,
   * List, Iterable)}.
   */
  default long copyIn(String sql, List<String> types, Iterable<? extends List<?>> rows) {
    return copyIn(sql, CopyFormat.BINARY, types, rows);
  }

  /**
   * Runs COPY ... TO STDOUT into a stream, in the format the statement names; returns the number of
   * rows.
   */
  long copyOut(Options options, String sql, OutputStream target);

  /** Runs COPY ... TO STDOUT, see {@link #copyOut(Options, String, OutputStream)}. */
  default long copyOut(String sql, OutputStream target) {
    return copyOut(Options.DEFAULT, sql, target);
  }

  /**
   * Runs COPY (query) TO STDOUT in a format and hands each row to the action as it comes. It costs
   * the server less than a cursor, and cannot have parameters. Returns the number of rows.
   */
  long copyOut(Options options, CopyFormat format, String query, Consumer<Row> action);

  /** Runs COPY (query) TO STDOUT, see {@link #copyOut(Options, CopyFormat, String, Consumer)}. */
  default long copyOut(CopyFormat format, String query, Consumer<Row> action) {
    return copyOut(Options.DEFAULT, format, query, action);
  }

  /**
   * Runs work in a transaction of a certain kind: commits if it returns, rolls back if it throws.
   * Inside another it is a savepoint.
   */
  <T> T transaction(TransactionOptions options, Function<Connection, T> work);

  /** Runs work in a transaction, see {@link #transaction(TransactionOptions, Function)}. */
  default <T> T transaction(Function<Connection, T> work) {
    return transaction(TransactionOptions.DEFAULT, work);
  }
}
