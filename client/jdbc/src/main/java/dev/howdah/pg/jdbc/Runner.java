package dev.howdah.pg.jdbc;

import dev.howdah.pg.Options;
import dev.howdah.pg.Result;
import dev.howdah.pg.ServerException;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/** Runs one execution of a statement in the way that fits it: a query, a portal, or a script. */
final class Runner {
  /** The server could not infer the type of a parameter. */
  static final String UNDETERMINED = "42P18";

  private final JdbcConnection connection;
  private final JdbcStatement statement;

  Runner(JdbcConnection connection, JdbcStatement statement) {
    this.connection = connection;
    this.statement = statement;
  }

  List<Answer> run(ParsedSql parsed, List<Parameter> parameters) throws SQLException {
    connection.settle();
    if (parameters.isEmpty() && (parsed.isScript() || statement.isPlain() && !parsed.isRead())) {
      return script(parsed.text());
    }
    boolean idle = !connection.core.inTransaction();
    try {
      return List.of(one(parsed, parameters));
    } catch (ServerException e) {
      // Nothing has run yet, so it can be tried again unless a transaction has failed with it.
      if (!e.sqlState().equals(UNDETERMINED) || !idle || parsed.isExplicit()) {
        throw e;
      }
      if (connection.core.inTransaction()) {
        connection.core.rollback();
      }
      parsed.becomeExplicit();
      return List.of(one(parsed, parameters));
    }
  }

  private Answer one(ParsedSql parsed, List<Parameter> parameters) throws SQLException {
    ParsedSql.Typed typed = parsed.typed(types(parsed, parameters));
    String text = typed.text();
    Object[] values = parameters.stream().map(Parameter::value).toArray();
    Options options = statement.options().types(typed.types());
    if (parsed.isRead() && statement.streams()) {
      return Answer.of(
          connection.core.portal(options.fetchSize(statement.fetches()), text, values));
    }
    Result result =
        connection.core.query(options.mostRows((int) statement.mostRows()), text, values);
    connection.catalog().notice(result.tag());
    return Answer.of(result);
  }

  /**
   * The types to declare, and a fallback where nothing else says one. Texts and numbers that are
   * cast have none: the server reads them as what they are cast to, and loses no digit.
   */
  static String[] types(ParsedSql parsed, List<Parameter> parameters) {
    String[] types = new String[parameters.size()];
    for (int i = 0; i < types.length; i++) {
      Parameter parameter = parameters.get(i);
      ParsedSql.Place place = parsed.place(i);
      boolean told = place.cast() || parameter.type() != null;
      boolean read =
          place.cast()
              && (parameter.value() instanceof String || parameter.value() instanceof Number);
      types[i] = read ? null : parameter.type();
      if (!told && (place.nullTest() || parsed.isExplicit())) {
        types[i] = parameter.fallback();
      }
    }
    return types;
  }

  /**
   * Runs text that is sent as it is: in one round trip, with nothing prepared, and rows come as
   * text.
   */
  private List<Answer> script(String text) throws SQLException {
    connection.open();
    List<Answer> answers = new ArrayList<>();
    for (Result result : connection.core.script(statement.options(), text)) {
      connection.catalog().notice(result.tag());
      Answer answer = Answer.of(result);
      boolean cut = statement.mostRows() > 0 && statement.mostRows() < result.size();
      answers.add(
          cut
              ? new Answer(
                  answer.shape(),
                  answer.rows().subList(0, (int) statement.mostRows()),
                  null,
                  answer.count())
              : answer);
    }
    return answers;
  }
}
