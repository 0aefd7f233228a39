package dev.howdah.pg;

import dev.howdah.pg.wire.WireOutput;

/**
 * A prepared statement that the server refuses as soon as a composite type is not what it was.
 *
 * <p>When another session alters such a type, no message tells of it: a statement that returns it
 * stays valid, and the bytes of a value do not name its fields. But a statement that returns the
 * type's fields as columns must not return others. It is bound behind the one that uses the type
 * and never executed; where it is refused, that one does not run either, is prepared anew and
 * learns the type again. The server compares when the type's relation has changed, on which the
 * plan depends by the constant of type regclass; else it costs a few microseconds.
 *
 * <p>It is bound last, since the locks on tables that the statement then has keep their row types
 * as they are until it has run. Types of schemas that the role may not use cannot be named and have
 * no witness.
 */
final class Witness {
  private static final String PORTAL = "howdah_witness";

  private Witness() {}

  /** The statement for a type that is named with its schema, and its relation's number. */
  static String sql(String relation, String type) {
    return "select '" + relation + "'::pg_catalog.regclass, (null::" + type + ").*";
  }

  /** Writes the order to bind witnesses, behind the statement that needs them. */
  static void bind(String[] witnesses, WireOutput out) {
    for (String name : witnesses) {
      int message = out.begin('B');
      out.cstring(PORTAL);
      out.cstring(name);
      out.int2(0);
      out.int2(0);
      out.int2(0);
      out.end(message);
      Requests.close('P', PORTAL, out);
    }
  }
}
