package dev.howdah.pg;

import dev.howdah.pg.types.TypeRegistry;
import dev.howdah.pg.wire.BigEndian;
import dev.howdah.pg.wire.Wire;
import dev.howdah.pg.wire.WireOutput;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Reads from the server's catalog what a type is made of.
 *
 * <p>It runs between the Parse and the Bind of the statement that uses the type, in the same
 * implicit transaction and with Flush, so that it works behind a pooler too.
 */
final class TypeCatalog {
  /** A chain of types within types is not longer than this unless it is a mistake. */
  private static final int MOST_ROUNDS = 32;

  private static final String NAME = "howdah_catalog";

  private final Executor executor;
  private final Session session;
  private final Deadline deadline;
  private final String witnessName;
  private final List<String> witnesses = new ArrayList<>();

  /** With a name, it prepares witnesses whose names begin so; with null it prepares none. */
  TypeCatalog(Executor executor, Deadline deadline, String witnessName) {
    this.executor = executor;
    this.session = executor.session;
    this.deadline = deadline;
    this.witnessName = witnessName;
  }

  /**
   * Learns the types and those that they are made of; returns the names of the {@link Witness
   * witnesses} of the composite ones.
   */
  List<String> learn(TypeRegistry registry, Collection<Integer> used) {
    Map<Integer, TypeRegistry.Description> found = new HashMap<>();
    Set<Integer> asked = registry.unknown(used);
    Set<Integer> pending = asked;
    for (int round = 0; round < MOST_ROUNDS && !pending.isEmpty(); round++) {
      List<Integer> needs = new ArrayList<>();
      for (TypeRegistry.Description type : describe(pending)) {
        found.put(type.oid(), type);
        needs.addAll(type.needs());
      }
      pending = registry.unknown(needs);
      pending.removeAll(found.keySet());
    }
    registry.learn(asked, found.values());
    return witnesses;
  }

  private static String list(Collection<Integer> oids) {
    return oids.stream().map(Integer::toUnsignedString).collect(Collectors.joining(","));
  }

  private boolean hasMultiranges() {
    String version = session.parameter("server_version");
    return version != null && version.matches("(1[4-9]|[2-9][0-9]).*");
  }

  private List<TypeRegistry.Description> describe(Set<Integer> oids) {
    String multirange =
        hasMultiranges()
            ? "(select rngtypid from pg_catalog.pg_range where rngmultitypid = t.oid)"
            : "null";
    List<String[]> rows =
        rows(
            "select t.oid, t.typname, t.typtype, case when t.typlen = -1 then t.typelem else 0 end,"
                + " t.typbasetype, coalesce((select rngsubtype from pg_catalog.pg_range where"
                + " rngtypid = t.oid), "
                + multirange
                + ", 0), t.typdelim, t.typrelid, case when pg_catalog.has_schema_privilege(n.oid,"
                + " 'USAGE') then pg_catalog.quote_ident(n.nspname) || '.' ||"
                + " pg_catalog.quote_ident(t.typname) end from pg_catalog.pg_type t join"
                + " pg_catalog.pg_namespace n on n.oid = t.typnamespace where t.oid in ("
                + list(oids)
                + ")");
    Map<String, List<TypeRegistry.Attribute>> attributes = attributes(rows);
    List<TypeRegistry.Description> types = new ArrayList<>();
    for (String[] row : rows) {
      types.add(
          new TypeRegistry.Description(
              oid(row[0]),
              row[1],
              row[2].charAt(0),
              oid(row[3]),
              oid(row[4]),
              oid(row[5]),
              row[6].charAt(0),
              attributes.getOrDefault(row[7], List.of())));
    }
    return types;
  }

  private static int oid(String text) {
    return Integer.parseUnsignedInt(text);
  }

  private Map<String, List<TypeRegistry.Attribute>> attributes(List<String[]> types) {
    List<Integer> relations =
        types.stream().filter(row -> row[2].equals("c")).map(row -> oid(row[7])).toList();
    Map<String, List<TypeRegistry.Attribute>> attributes = new HashMap<>();
    if (!relations.isEmpty()) {
      // Before the fields are read, so that none can change unseen in between.
      types.stream()
          .filter(row -> row[2].equals("c") && row[8] != null)
          .forEach(row -> prepareWitness(row[7], row[8]));
      for (String[] row :
          rows(
              "select attrelid, attname, atttypid from pg_catalog.pg_attribute where attrelid in ("
                  + list(relations)
                  + ") and attnum > 0 and not attisdropped order by attrelid, attnum")) {
        attributes
            .computeIfAbsent(row[0], relation -> new ArrayList<>())
            .add(new TypeRegistry.Attribute(row[1], oid(row[2])));
      }
    }
    return attributes;
  }

  /** The server answers it with what it answers to the query behind it. */
  private void prepareWitness(String relation, String type) {
    if (witnessName != null) {
      String name = witnessName + "_" + witnesses.size();
      Requests.parse(
          name, Witness.sql(relation, type), ParameterTypes.INFERRED, session.wire.output());
      witnesses.add(name);
    }
  }

  /** The rows of a query as text. */
  private List<String[]> rows(String sql) {
    WireOutput out = session.wire.output();
    // A lookup that was cancelled has left its statement behind. To close one that is not there is
    // no error.
    Requests.close('S', NAME, out);
    int parse = out.begin('P');
    out.cstring(NAME);
    out.cstring(sql);
    out.int2(0);
    out.end(parse);
    int bind = out.begin('B');
    out.cstring(NAME);
    out.cstring(NAME);
    out.int2(0);
    out.int2(0);
    out.int2(0);
    out.end(bind);
    int execute = out.begin('E');
    out.cstring(NAME);
    out.int4(0);
    out.end(execute);
    // Both are closed before the answer ends, so that the names are free for the next.
    Requests.close('P', NAME, out);
    Requests.close('S', NAME, out);
    out.message('H');
    session.flush(deadline);
    return read();
  }

  private List<String[]> read() {
    List<String[]> rows = new ArrayList<>();
    int closed = 0;
    while (closed < 3) {
      int type = session.receive(deadline);
      switch (type) {
        case '1', '2', 'C' -> {}
        case '3' -> closed++;
        case 'D' -> rows.add(row());
        case 'E' -> {
          ServerMessage message = ServerMessage.read(session.wire);
          session.synchronize(deadline);
          throw new ServerException(
              message, null, "This happened while the types of a statement were looked up.");
        }
        default -> throw session.unexpected(type, "while types are looked up");
      }
    }
    return rows;
  }

  private String[] row() {
    Wire wire = session.wire;
    int count = BigEndian.uint2(wire.body(), wire.offset());
    if (!Row.wellFormed(wire.body(), wire.offset(), wire.length(), count)) {
      throw wire.malformed("it is not a row");
    }
    String[] cells = new String[count];
    int at = wire.offset() + 2;
    for (int i = 0; i < count; i++) {
      int length = BigEndian.int4(wire.body(), at);
      at += 4;
      if (length >= 0) {
        cells[i] = new String(wire.body(), at, length, StandardCharsets.UTF_8);
        at += length;
      }
    }
    return cells;
  }
}
