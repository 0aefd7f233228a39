package dev.howdah.pg.jdbc;

import dev.howdah.pg.Options;
import dev.howdah.pg.PgException;
import dev.howdah.pg.Pipeline;
import dev.howdah.pg.Result;
import dev.howdah.pg.Row;
import dev.howdah.pg.Shape;
import java.sql.BatchUpdateException;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Runs a batch, many statements to a round trip. Outside of a transaction the batch is one: all of
 * it happens or nothing.
 */
final class Batch {
  /** How many statements are sent before their answers are read. */
  private static final int CHUNK = 500;

  /** A statement of a batch and its parameters. */
  record Item(ParsedSql parsed, List<Parameter> parameters) {}

  private final JdbcConnection connection;
  private final JdbcStatement statement;
  private final List<Item> items;
  private final long[] counts;
  private final List<Row> keys = new ArrayList<>();
  private Shape shape = new Shape(List.of());

  Batch(JdbcConnection connection, JdbcStatement statement, List<Item> items) {
    this.connection = connection;
    this.statement = statement;
    this.items = items;
    this.counts = new long[items.size()];
    Arrays.fill(counts, Statement.EXECUTE_FAILED);
  }

  /**
   * Runs the batch; the rows of statements that return some are generated keys if those were asked
   * for.
   */
  long[] run(boolean returning) throws SQLException {
    if (items.isEmpty()) {
      return counts;
    }
    connection.settle();
    boolean idle = !connection.core.inTransaction();
    boolean own = idle && connection.getAutoCommit() && items.size() > 1;
    try {
      attempt(own, returning);
    } catch (PgException e) {
      if (!idle
          || !e.sqlState().equals(Runner.UNDETERMINED)
          || items.stream().allMatch(item -> item.parsed().isExplicit())) {
        throw failed(e, own);
      }
      rollback(e);
      items.forEach(item -> item.parsed().becomeExplicit());
      return run(returning);
    }
    if (returning) {
      statement.keys(new Answer(shape, keys, null, keys.size()));
    }
    return counts;
  }

  private void attempt(boolean own, boolean returning) {
    keys.clear();
    if (own) {
      connection.begin();
    } else {
      connection.open();
    }
    runChunks(returning);
    if (own) {
      connection.core.commit();
    }
  }

  private void rollback(PgException reason) {
    if (connection.core.isOpen() && connection.core.inTransaction()) {
      try {
        connection.core.rollback();
      } catch (PgException e) {
        reason.addSuppressed(e);
      }
    }
  }

  private BatchUpdateException failed(PgException error, boolean own) {
    if (own) {
      Arrays.fill(counts, Statement.EXECUTE_FAILED);
      rollback(error);
    }
    return new BatchUpdateException(
        error.getMessage(), error.sqlState(), 0, counts, SqlErrors.of(error));
  }

  private void runChunks(boolean returning) {
    for (int from = 0; from < items.size(); from += CHUNK) {
      int to = Math.min(items.size(), from + CHUNK);
      if (statement.isPlain()) {
        runPlain(from, to);
      } else if (to - from == 1) {
        Item item = items.get(from);
        ParsedSql.Typed typed = typed(item);
        Options options = statement.options().types(typed.types());
        take(
            from,
            connection.core.query(options, typed.text(), values(item)),
            returning,
            keys.size());
      } else {
        runChunk(from, to, returning);
      }
    }
  }

  /**
   * Runs statements that are not worth preparing, each in a round trip; one that is several counts
   * as one.
   */
  private void runPlain(int from, int to) {
    for (int i = from; i < to; i++) {
      long count = 0;
      for (Result result :
          connection.core.script(statement.options(), items.get(i).parsed().text())) {
        connection.catalog().notice(result.tag());
        count += result.count();
      }
      counts[i] = count;
    }
  }

  private static ParsedSql.Typed typed(Item item) {
    return item.parsed().typed(Runner.types(item.parsed(), item.parameters()));
  }

  private static Object[] values(Item item) {
    return item.parameters().stream().map(Parameter::value).toArray();
  }

  private void runChunk(int from, int to, boolean returning) {
    List<Pipeline.Answer> answers = new ArrayList<>();
    PgException failure = null;
    try (Pipeline pipeline = connection.core.pipeline(statement.options())) {
      for (int i = from; i < to; i++) {
        ParsedSql.Typed typed = typed(items.get(i));
        answers.add(pipeline.query(typed.types(), typed.text(), values(items.get(i))));
      }
    } catch (PgException e) {
      failure = e;
    }
    int at = keys.size();
    // What was sent has run, also where a later statement could not be. The first error is the
    // reason of the others.
    for (int i = answers.size() - 1; i >= 0; i--) {
      try {
        take(from + i, answers.get(i).get(), returning, at);
      } catch (PgException e) {
        failure = e;
      }
    }
    if (failure != null) {
      throw failure;
    }
  }

  private void take(int index, Result result, boolean returning, int at) {
    connection.catalog().notice(result.tag());
    counts[index] = result.count();
    if (returning && result.shape().size() > 0) {
      shape = result.shape();
      keys.addAll(at, result);
    }
  }
}
