package dev.howdah.pg;

import dev.howdah.pg.types.Codec;
import dev.howdah.pg.wire.BigEndian;
import dev.howdah.pg.wire.WireOutput;

/** The messages of the extended protocol that a client writes. */
final class Requests {
  private static final int MOST_PARAMETERS = 65_535;

  private Requests() {}

  static void close(char kind, String name, WireOutput out) {
    int message = out.begin('C');
    out.int1(kind);
    out.cstring(name);
    out.end(message);
  }

  static void execute(int rows, WireOutput out) {
    execute("", rows, out);
  }

  /** Writes the order to run a named portal. */
  static void execute(String portal, int rows, WireOutput out) {
    int message = out.begin('E');
    out.cstring(portal);
    out.int4(rows);
    out.end(message);
  }

  static void bind(Statement statement, Object[] parameters, WireOutput out) {
    bind(statement, "", parameters, out);
  }

  /** Writes the binding of a statement to a named portal. */
  static void bind(Statement statement, String portal, Object[] parameters, WireOutput out) {
    int count = statement.parameters.length;
    if (parameters.length > MOST_PARAMETERS) {
      throw new PgException(
          "54023",
          "the statement was given "
              + parameters.length
              + " parameters, and can have "
              + MOST_PARAMETERS
              + " at most; an array, as in unnest($1::int[]), is one");
    }
    if (parameters.length != count) {
      throw new PgException(
          "08P01",
          "the statement takes " + count + " parameters and was given " + parameters.length);
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
      boolean binary = parameter(statement.parameters[i], parameters[i], i, out);
      BigEndian.int2(out.array(), formats + 2 * i, binary ? 1 : 0);
    }
    out.int2(statement.resultFormats.length);
    for (short format : statement.resultFormats) {
      out.int2(format);
    }
    out.end(message);
    Witness.bind(statement.witnesses, out);
  }

  /**
   * A String is sent as text whatever the type is, so that the server parses it; returns whether it
   * is binary.
   */
  private static boolean parameter(Codec codec, Object given, int index, WireOutput out) {
    Object value = given instanceof ByType open ? open.forType(codec) : given;
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

  /** Writes a statement without parameters and rows as the unnamed one. */
  static void utility(String sql, WireOutput out) {
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
    execute(0, out);
  }

  /**
   * Writes the order to parse a statement under a name; SQL with a zero character is refused and
   * leaves nothing written.
   */
  static void parse(String name, String sql, ParameterTypes types, WireOutput out) {
    int start = out.size();
    try {
      int message = out.begin('P');
      out.cstring(name);
      out.cstring(sql);
      out.int2(types.size());
      for (int i = 0; i < types.size(); i++) {
        out.int4(types.oid(i));
      }
      out.end(message);
    } catch (IllegalArgumentException | PgException e) {
      out.truncate(start);
      throw new PgException("22021", e.getMessage(), e);
    }
  }

  /** Writes the order to describe a statement. */
  static void describe(String name, WireOutput out) {
    int message = out.begin('D');
    out.int1('S');
    out.cstring(name);
    out.end(message);
  }
}
