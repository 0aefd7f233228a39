package dev.howdah.pg;

import dev.howdah.pg.types.Codec;
import java.util.ArrayList;
import java.util.List;

/**
 * What a statement takes and returns.
 *
 * @param parameters its parameters in order
 * @param shape its columns; none for a statement that returns no rows
 */
public record Description(List<Parameter> parameters, Shape shape) {
  /**
   * A parameter.
   *
   * @param type the number of the type that the server infers for it
   * @param codec how its values are written
   */
  public record Parameter(int type, Codec codec) {}

  /** Asks the server, or the cache of statements. */
  static Description ask(Executor executor, String sql, Options options) {
    executor.checkFree();
    Deadline deadline = executor.deadline(options);
    executor.session.gate.begin();
    executor.occupy("a statement that is being described");
    try {
      Statement statement = executor.session.statements.find(sql, options);
      if (statement == null) {
        statement = executor.preparation.prepare(sql, options, deadline);
        executor.session.synchronize(deadline);
      }
      return of(statement);
    } finally {
      executor.release();
      executor.session.gate.end();
    }
  }

  private static Description of(Statement statement) {
    List<Parameter> parameters = new ArrayList<>();
    for (int i = 0; i < statement.parameters.length; i++) {
      parameters.add(new Parameter(statement.parameterTypes[i], statement.parameters[i]));
    }
    return new Description(List.copyOf(parameters), statement.shape);
  }
}
