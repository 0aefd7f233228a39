package dev.howdah.pg;

import dev.howdah.pg.types.Codec;
import dev.howdah.pg.types.TypeRegistry;
import dev.howdah.pg.wire.BigEndian;
import dev.howdah.pg.wire.Wire;
import dev.howdah.pg.wire.WireOutput;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * Runs statements in the extended protocol.
 *
 * <p>A statement that is cached costs one write: Bind, Execute and Sync together, with no Describe, because
 * what it returns is known. A new one is parsed and described first, in a write of its own that ends with
 * Flush and not with Sync: behind a pooler Sync would be the place where the server's session may change.
 */
final class Executor {
  private static final int MOST_PARAMETERS = 65_535;
  private static final int MOST_COLUMNS = 1_664;
  private static final Shape NO_COLUMNS = new Shape(List.of());

  final Session session;
  final Turns turns = new Turns();
  final SharedPipeline shared;
  private final RowCollector collector = RowCollector.kept();
  /** What has the session to itself over several calls, such as an open cursor; null if nothing has. */
  private String occupied;
  /** Whether the answer that is read begins with that of an opening statement, see {@link Options#opening}. */
  private boolean opening;

  Executor(Session session) {
    this.session = session;
    this.shared = new SharedPipeline(this);
  }

  /** Takes the session alone, when those who came before are done; {@link Turns#release} gives it back. */
  void hold(Options options) {
    shared.refuseReentry();
    turns.hold(limit(options));
  }

  /** Refuses to go on while something else has the session, or when it is closed. */
  void checkFree() {
    if (occupied != null) {
      throw new PgException("55006", "the connection is busy with " + occupied + "; finish or close it first");
    }
    if (!session.isOpen()) {
      throw new ConnectionException("the connection is closed");
    }
  }

  /** Whether a statement could be run now. */
  boolean isFree() {
    return occupied == null && session.isOpen();
  }

  void occupy(String what) {
    occupied = what;
    turns.purpose(what);
  }

  void release() {
    occupied = null;
    session.closeIfTorn();
  }

  Deadline deadline(Options options) {
    return Deadline.after(limit(options), options.closing());
  }

  Duration limit(Options options) {
    return options.timeout() != null ? options.timeout() : session.config.queryTimeout();
  }

  /** Runs a statement and keeps its rows. */
  Result query(String sql, Object[] parameters, Options options) {
    Shape[] seen = {NO_COLUMNS};
    String tag = run(sql, parameters, options, shape -> {
      seen[0] = shape;
      collector.begin(shape, shape.maker(options.rows()));
      return collector;
    });
    return new Result(seen[0], collector.take(), tag);
  }

  /** The columns that a statement returns, asked anew because they may have changed, without running it. */
  Shape shape(String sql, Options options) {
    checkFree();
    Deadline deadline = deadline(options);
    session.gate.begin();
    occupy("a statement that is being described");
    try {
      Statement known = session.statements.find(sql, true);
      if (known != null) {
        session.statements.remove(known);
      }
      Statement described = prepare(sql, true, deadline);
      synchronize(deadline);
      return described.shape;
    } finally {
      release();
      session.gate.end();
    }
  }

  /** Runs a statement; its rows go where the reception says. Returns the command's tag. */
  String run(String sql, Object[] parameters, Options options, Reception reception) {
    checkFree();
    Deadline deadline = deadline(options);
    session.gate.begin();
    occupy("a statement whose rows are being read");
    try {
      return attempt(sql, parameters, options, reception, deadline, true);
    } finally {
      release();
      session.gate.end();
    }
  }

  private String attempt(String sql, Object[] parameters, Options options, Reception reception, Deadline deadline, boolean heal) {
    char before = session.status();
    String first = before == 'I' ? options.opening() : null;
    Statement statement = session.statements.find(sql, options.binary());
    boolean cached = statement != null;
    if (!cached) {
      alone(first, deadline);
      statement = prepare(sql, options.binary(), deadline);
    }
    send(statement, parameters, cached ? first : null, !cached, options.mostRows(), deadline);
    Outcome outcome = complete(statement, reception, deadline);
    if (outcome.error != null && cached && isStale(outcome.error)) {
      session.statements.remove(statement);
      if (heal && before == 'I') {
        alone(first == null ? null : "ROLLBACK", deadline);
        return attempt(sql, parameters, options, reception, deadline, false);
      }
      throw new ServerException(outcome.error, sql, "The prepared statement does not fit any more or was lost behind a pooler,"
          + " and inside a transaction it cannot be prepared again; statement_cache_size=0 turns the cache off.");
    }
    return outcome.tagOrThrow(sql, deadline);
  }

  /** Reads the answer to a call that shares the session; the one thread that reads calls this. */
  void receive(SharedCall call) {
    call.outcome = complete(call.statement, shape -> {
      collector.begin(shape, shape.maker(call.options.rows()));
      return collector;
    }, call.deadline);
    call.result = new Result(call.statement.shape, collector.take(), call.outcome.tag);
  }

  /** What a changed table or a lost statement is answered with, before anything has run. */
  static boolean isStale(ServerMessage error) {
    return error.sqlState().equals("26000")
        || error.sqlState().equals("0A000") && "RevalidateCachedQuery".equals(error.routine());
  }

  /** Sends the values and the order to run, in one write. */
  private void send(Statement statement, Object[] parameters, String first, boolean parsed, int mostRows, Deadline deadline) {
    WireOutput out = session.wire.output();
    writeClosing(out);
    int start = out.size();
    try {
      if (first != null) {
        writeUtility(first, out);
      }
      writeBind(statement, parameters, out);
    } catch (RuntimeException e) {
      out.truncate(start);
      if (parsed) {
        synchronize(deadline);
      }
      throw e;
    }
    writeExecute(mostRows, out);
    out.message('S');
    opening = first != null;
    flush(deadline);
  }

  /** Runs a statement that returns nothing, in a round trip of its own; null is none. */
  void alone(String sql, Deadline deadline) {
    if (sql == null) {
      return;
    }
    writeUtility(sql, session.wire.output());
    session.wire.output().message('S');
    flush(deadline);
    Outcome outcome = new Outcome();
    while (true) {
      int type = session.receive(deadline);
      switch (type) {
        case '1', '2', 'C' -> { }
        case 'E' -> failed(outcome);
        case 'Z' -> {
          session.ready();
          outcome.interrupted = session.wire.takeInterrupt();
          outcome.tagOrThrow(sql, deadline);
          return;
        }
        default -> throw session.unexpected(type, "while " + sql + " runs");
      }
    }
  }

  /** Writes a statement without parameters and rows as the unnamed one. */
  private static void writeUtility(String sql, WireOutput out) {
    int parse = out.begin('P');
    out.int1(0);
    out.cstring(sql);
    out.int2(0);
    out.end(parse);
    int bind = out.begin('B');
    out.int1(0);
    out.int1(0);
    out.int2(0);
    out.int2(0);
    out.int2(0);
    out.end(bind);
    writeExecute(0, out);
  }

  void flush(Deadline deadline) {
    session.flush(deadline);
  }

  void writeClosing(WireOutput out) {
    for (String name : session.statements.takeClosing()) {
      writeClose('S', name, out);
    }
    for (String name : session.closingPortals) {
      writeClose('P', name, out);
    }
    session.closingPortals.clear();
  }

  static void writeClose(char kind, String name, WireOutput out) {
    int message = out.begin('C');
    out.int1(kind);
    out.cstring(name);
    out.end(message);
  }

  static void writeExecute(int rows, WireOutput out) {
    writeExecute("", rows, out);
  }

  /** Writes the order to run a named portal. */
  static void writeExecute(String portal, int rows, WireOutput out) {
    int message = out.begin('E');
    out.cstring(portal);
    out.int4(rows);
    out.end(message);
  }

  static void writeBind(Statement statement, Object[] parameters, WireOutput out) {
    writeBind(statement, "", parameters, out);
  }

  /** Writes the binding of a statement to a named portal. */
  static void writeBind(Statement statement, String portal, Object[] parameters, WireOutput out) {
    int count = statement.parameters.length;
    if (parameters.length != count) {
      throw new PgException("08P01", "the statement takes " + count + " parameters and was given " + parameters.length);
    }
    int message = out.begin('B');
    out.cstring(portal);
    out.cstring(statement.name);
    out.int2(count);
    int formats = out.size();
    out.room(count * 2);
    out.advance(count * 2);
    out.int2(count);
    for (int i = 0; i < count; i++) {
      boolean binary = writeParameter(statement.parameters[i], parameters[i], i, out);
      BigEndian.int2(out.array(), formats + 2 * i, binary ? 1 : 0);
    }
    out.int2(statement.resultFormats.length);
    for (short format : statement.resultFormats) {
      out.int2(format);
    }
    out.end(message);
  }

  /** A String is sent as text whatever the type is, so that the server parses it; returns whether it is binary. */
  private static boolean writeParameter(Codec codec, Object value, int index, WireOutput out) {
    if (value == null) {
      out.int4(-1);
      return true;
    }
    int start = out.reserveInt4();
    boolean binary = codec.binary() && !(value instanceof String);
    try {
      if (binary) {
        codec.encode(value, out);
      } else {
        out.text(value instanceof String text ? text : codec.format(value));
      }
    } catch (PgException e) {
      throw new PgException(e.sqlState(), "parameter $" + (index + 1) + ": " + e.getMessage(), e);
    }
    out.storeLength(start);
    return binary;
  }

  /** How a statement ended. */
  static final class Outcome {
    String tag = "";
    ServerMessage error;
    RuntimeException failure;
    boolean interrupted;

    String tagOrThrow(String sql, Deadline deadline) {
      if (failure != null) {
        throw failure;
      }
      if (error == null) {
        return tag;
      }
      ServerException cause = new ServerException(error, sql);
      if (error.sqlState().equals("57014") && deadline.cancelled()) {
        throw new PgTimeoutException("the query passed its limit of " + deadline.limit()
            + " (query_timeout or the query's own timeout) and was cancelled", cause);
      }
      if (error.sqlState().equals("57014") && interrupted) {
        throw new PgException("57014", "the thread was interrupted, and its query was cancelled", cause);
      }
      throw cause;
    }
  }

  /** Reads the answer to Bind, Execute and Sync. */
  Outcome complete(Statement statement, Reception reception, Deadline deadline) {
    Outcome outcome = new Outcome();
    RowSink sink = null;
    while (true) {
      int type = session.receive(deadline);
      switch (type) {
        case 'D' -> {
          if (sink == null) {
            throw session.unexpected(type, "before the statement was bound");
          }
          sink = deliver(statement.shape, sink, outcome);
        }
        case '2' -> sink = opening ? null : begin(statement, reception, outcome);
        case 'C' -> {
          if (!opening) {
            completed(session.wire.cstring(), outcome);
          }
          opening = false;
        }
        case '1', 'I', '3', 's' -> { }
        case 'E' -> failed(outcome);
        case 'G' -> {
          if (statement.shareable) {
            throw session.unexpected(type, "where no COPY was asked for");
          }
          refuseCopyIn(outcome, deadline);
        }
        case 'H', 'd', 'c' -> outcome.failure = new PgException("0A000", "COPY TO STDOUT is run by copyOut");
        case 'Z' -> {
          opening = false;
          session.ready();
          outcome.interrupted = session.wire.takeInterrupt();
          return outcome;
        }
        default -> throw session.unexpected(type, "while a statement runs");
      }
    }
  }

  private RowSink begin(Statement statement, Reception reception, Outcome outcome) {
    try {
      return reception.begin(statement.shape);
    } catch (RuntimeException e) {
      outcome.failure = e;
      return RowSink.NONE;
    }
  }

  /** Hands over one row. Whoever cannot take it gets no more: the statement is cancelled. */
  RowSink deliver(Shape shape, RowSink sink, Outcome outcome) {
    Wire wire = session.wire;
    if (!Row.wellFormed(wire.body(), wire.offset(), wire.length(), shape.size())) {
      session.close();
      throw wire.malformed("it is not a row of " + shape.size() + " columns");
    }
    try {
      sink.row(wire);
      return sink;
    } catch (RuntimeException | Error e) {
      outcome.failure = e instanceof RuntimeException runtime ? runtime : new PgException("58000", "rows could not be taken", e);
      session.tryCancel();
      return RowSink.NONE;
    }
  }

  /** Definitions that change may change what a statement returns, so it is described again. */
  void completed(String tag, Outcome outcome) {
    outcome.tag = tag;
    if (tag.startsWith("ALTER") || tag.startsWith("DROP")) {
      session.statements.invalidate();
    } else if (tag.equals("DISCARD ALL") || tag.startsWith("DEALLOCATE ALL")) {
      session.statements.forget();
    }
  }

  /** Keeps the first error. After a fatal one the server says nothing more. */
  void failed(Outcome outcome) {
    ServerMessage message = ServerMessage.read(session.wire);
    if (message.severity().equals("FATAL") || message.severity().equals("PANIC")) {
      session.close();
      throw new ServerException(message, null);
    }
    if (outcome.error == null) {
      outcome.error = message;
    }
  }

  /** In COPY's mode the server has passed over our Sync, so another is due. */
  private void refuseCopyIn(Outcome outcome, Deadline deadline) {
    outcome.failure = new PgException("0A000", "COPY FROM STDIN is run by copyIn");
    WireOutput out = session.wire.output();
    int message = out.begin('f');
    out.cstring("COPY FROM STDIN is run by copyIn");
    out.end(message);
    out.message('S');
    flush(deadline);
  }

  /** Parses and describes a statement. After an error the session is in order again. */
  Statement prepare(String sql, boolean binary, Deadline deadline) {
    String name = session.statements.newName();
    WireOutput out = session.wire.output();
    int start = out.size();
    try {
      writeClosing(out);
      int parse = out.begin('P');
      out.cstring(name);
      out.cstring(sql);
      out.int2(0);
      out.end(parse);
    } catch (IllegalArgumentException e) {
      out.truncate(start);
      throw new PgException("22021", e.getMessage(), e);
    }
    int describe = out.begin('D');
    out.int1('S');
    out.cstring(name);
    out.end(describe);
    out.message('H');
    flush(deadline);
    return readDescription(sql, name, binary, deadline);
  }

  private Statement readDescription(String sql, String name, boolean binary, Deadline deadline) {
    int[] parameterTypes = null;
    while (true) {
      int type = session.receive(deadline);
      switch (type) {
        case '1', '3' -> { }
        case 't' -> parameterTypes = parameterTypes();
        case 'T', 'n' -> {
          if (parameterTypes == null) {
            throw session.unexpected(type, "before the parameters were described");
          }
          List<Described> columns = type == 'n' ? List.of() : columns();
          learnTypes(parameterTypes, columns, deadline);
          Statement statement = new Statement(sql, name, parameterTypes, codecs(parameterTypes, binary), shape(columns, binary));
          session.statements.add(statement, binary);
          return statement;
        }
        case 'E' -> {
          Outcome outcome = new Outcome();
          failed(outcome);
          synchronize(deadline);
          outcome.interrupted = session.wire.takeInterrupt();
          outcome.tagOrThrow(sql, deadline);
        }
        default -> throw session.unexpected(type, "while a statement is prepared");
      }
    }
  }

  /** Sends Sync and reads up to where the server is ready. */
  void synchronize(Deadline deadline) {
    session.wire.output().message('S');
    flush(deadline);
    while (true) {
      int type = session.receive(deadline);
      if (type == 'Z') {
        session.ready();
        return;
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
  private record Described(String name, int table, int attribute, int type, int modifier) {}

  private List<Described> columns() {
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

  private void learnTypes(int[] parameterTypes, List<Described> columns, Deadline deadline) {
    List<Integer> used = new ArrayList<>();
    for (int type : parameterTypes) {
      used.add(type);
    }
    columns.forEach(column -> used.add(column.type()));
    if (!session.types.unknown(used).isEmpty()) {
      new TypeCatalog(this, deadline).learn(session.types, used);
    }
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
      described.add(new Column(column.name(), column.type(), column.modifier(), column.table(), column.attribute(),
          codec(column.type(), binary)));
    }
    return new Shape(described);
  }

  /** The shape that the current message describes, of a statement whose rows come as text. */
  Shape textShape() {
    return shape(columns(), false);
  }

  /** Runs a script in the simple protocol, see {@link Script}. */
  List<Result> script(String sql) {
    return new Script(this).run(sql, Options.DEFAULT);
  }
}
