package dev.howdah.pg;

import dev.howdah.pg.types.Codec;
import dev.howdah.pg.types.TypeRegistry;
import dev.howdah.pg.wire.Wire;
import dev.howdah.pg.wire.WireOutput;
import java.util.ArrayList;
import java.util.List;

/**
 * Has the server prepare and describe statements, and binds a codec to each parameter and column.
 */
final class Preparation {
  private static final int MOST_PARAMETERS = 65_535;
  private static final int MOST_COLUMNS = 1_664;

  private final Executor executor;
  private final Session session;

  Preparation(Executor executor) {
    this.executor = executor;
    this.session = executor.session;
  }

  /** Parses and describes a statement. After an error the session is in order again. */
  Statement prepare(String sql, Options options, Deadline deadline) {
    return prepare(session.statements.newName(sql, options, false), sql, options, deadline);
  }

  /** The same, for a statement that will be used again at once. */
  Statement prepareToRepeat(String sql, Options options, Deadline deadline) {
    return prepare(session.statements.newName(sql, options, true), sql, options, deadline);
  }

  private Statement prepare(String name, String sql, Options options, Deadline deadline) {
    WireOutput out = session.wire.output();
    session.writeClosing(out);
    Requests.parse(name, sql, options.types(), out);
    Requests.describe(name, out);
    out.message('H');
    session.flush(deadline);
    return readDescription(sql, name, options, deadline);
  }

  private Statement readDescription(String sql, String name, Options options, Deadline deadline) {
    boolean binary = options.binary();
    int[] parameterTypes = null;
    while (true) {
      int type = session.receive(deadline);
      switch (type) {
        case '1', '3' -> {}
        case 't' -> parameterTypes = parameterTypes();
        case 'T', 'n' -> {
          if (parameterTypes == null) {
            throw session.unexpected(type, "before the parameters were described");
          }
          List<Described> columns = type == 'n' ? List.of() : columns();
          List<String> witnesses =
              learnTypes(parameterTypes, columns, deadline, session.statements.witnessName(name));
          Shape shape = type == 'n' ? Shape.NO_ROWS : shape(columns, binary);
          Statement statement =
              new Statement(
                  sql, name, parameterTypes, codecs(parameterTypes, binary), shape, witnesses);
          session.statements.add(statement, options);
          return statement;
        }
        case 'E' -> {
          Outcome outcome = new Outcome();
          executor.answers.failed(outcome);
          session.synchronize(deadline);
          outcome.interrupted = session.wire.takeInterrupt();
          outcome.tagOrThrow(sql, deadline);
        }
        default -> throw session.unexpected(type, "while a statement is prepared");
      }
    }
  }

  private int[] parameterTypes() {
    int count = session.wire.int2() & MOST_PARAMETERS;
    int[] types = new int[count];
    for (int i = 0; i < count; i++) {
      types[i] = session.wire.int4();
    }
    return types;
  }

  /** A column before its codec is known. */
  record Described(String name, int table, int attribute, int type, int modifier) {}

  /** The columns that the current message describes. */
  List<Described> columns() {
    Wire wire = session.wire;
    int count = wire.int2() & 0xffff;
    if (count > MOST_COLUMNS) {
      session.close();
      throw wire.malformed(count + " columns, where PostgreSQL has " + MOST_COLUMNS + " at most");
    }
    List<Described> columns = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      String name = wire.cstring();
      int table = wire.int4();
      int attribute = wire.int2();
      int type = wire.int4();
      wire.int2();
      int modifier = wire.int4();
      wire.int2();
      columns.add(new Described(name, table, attribute, type, modifier));
    }
    return columns;
  }

  private List<String> learnTypes(
      int[] parameterTypes, List<Described> columns, Deadline deadline, String witnessName) {
    List<Integer> used = new ArrayList<>();
    for (int type : parameterTypes) {
      used.add(type);
    }
    columns.forEach(column -> used.add(column.type()));
    if (session.types.unknown(used).isEmpty()) {
      return List.of();
    }
    return new TypeCatalog(executor, deadline, witnessName).learn(session.types, used);
  }

  private Codec[] codecs(int[] types, boolean binary) {
    Codec[] codecs = new Codec[types.length];
    for (int i = 0; i < types.length; i++) {
      codecs[i] = codec(types[i], binary);
    }
    return codecs;
  }

  private Codec codec(int type, boolean binary) {
    Codec codec = session.types.codec(type);
    if (codec == null) {
      // Type 0, which the server gives for nothing in particular.
      codec = session.types.codec(25);
    }
    return binary && codec.binary() ? codec : TypeRegistry.asText(codec);
  }

  private Shape shape(List<Described> columns, boolean binary) {
    List<Column> described = new ArrayList<>();
    for (Described column : columns) {
      described.add(
          new Column(
              column.name(),
              column.type(),
              column.modifier(),
              column.table(),
              column.attribute(),
              codec(column.type(), binary)));
    }
    return new Shape(described);
  }

  /** The shape of columns whose values come as text. */
  Shape textShape(List<Described> columns) {
    return shape(columns, false);
  }

  /** Looks up the types of columns, outside of any statement; returns whether one was not known. */
  boolean learnTypes(List<Described> columns, Deadline deadline) {
    List<Integer> used = columns.stream().map(Described::type).toList();
    if (session.types.unknown(used).isEmpty()) {
      return false;
    }
    new TypeCatalog(executor, deadline, null).learn(session.types, used);
    session.synchronize(deadline);
    return true;
  }
}
