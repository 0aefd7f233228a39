package dev.howdah.pg.jdbc;

import dev.howdah.pg.ParameterTypes;
import java.util.Arrays;
import java.util.List;
import java.util.Set;

/**
 * A statement cut at its placeholders, which become $1, $2 and so on. Made by {@link SqlScanner}.
 */
final class ParsedSql {
  private static final Set<String> CHANGES = Set.of("insert", "update", "delete", "merge");
  private static final Set<String> READS = Set.of("select", "values", "table");

  /**
   * What stands behind a placeholder.
   *
   * @param cast whether it is cast, so that its type is known
   * @param indirection whether a subscript or a field follows
   * @param nullTest whether it is asked for being null, which says nothing of its type
   */
  record Place(boolean cast, boolean indirection, boolean nullTest) {}

  /**
   * The statement for parameters of some types.
   *
   * @param names the types' names; null is none
   * @param text where a type has no number of its own, a cast stands behind the placeholder
   * @param types the numbers of the others
   */
  record Typed(String[] names, String text, ParameterTypes types) {}

  private final List<String> fragments;
  private final List<Place> places;
  private final int statements;
  private final String kind;
  private final boolean returning;
  private final int end;

  /** The text for the types of the last execution; the next is nearly always of the same. */
  private volatile Typed typed;

  /** Whether the server could not infer the parameters' types, so that each says its own. */
  private volatile boolean explicit;

  ParsedSql(
      List<String> fragments,
      List<Place> places,
      int statements,
      String kind,
      boolean returning,
      int end) {
    this.fragments = fragments;
    this.places = places;
    this.statements = statements;
    this.kind = kind == null ? "" : kind;
    this.returning = returning;
    this.end = end;
  }

  int parameters() {
    return places.size();
  }

  Place place(int index) {
    return places.get(index);
  }

  /** The statement with question marks that are themselves, as one without parameters has them. */
  ParsedSql bare() {
    if (places.isEmpty()) {
      return this;
    }
    String whole = String.join("?", fragments);
    int last = whole.length() - fragments.get(fragments.size() - 1).length();
    return new ParsedSql(List.of(whole), List.of(), statements, kind, returning, last + end);
  }

  /** Whether there is more than one statement. */
  boolean isScript() {
    return statements > 1;
  }

  /** Whether the rows can be fetched through a portal. */
  boolean isRead() {
    return READS.contains(kind);
  }

  boolean isExplicit() {
    return explicit;
  }

  void becomeExplicit() {
    explicit = true;
  }

  /** The statement for parameters of these types. */
  Typed typed(String[] names) {
    Typed last = typed;
    if (last == null || !Arrays.equals(last.names(), names)) {
      last = declared(names);
      typed = last;
    }
    return last;
  }

  /**
   * Types are declared beside the text: PostgreSQL's grammar has places for a parameter and not for
   * a cast of one.
   */
  private Typed declared(String[] names) {
    String[] casts = names.clone();
    int[] numbers = new int[names.length];
    for (int i = 0; i < names.length; i++) {
      numbers[i] = TypeNumbers.of(names[i]);
      if (numbers[i] != 0) {
        casts[i] = null;
      }
    }
    return new Typed(names.clone(), render(casts), ParameterTypes.of(numbers));
  }

  /** The statement with bare placeholders. */
  String text() {
    return render(new String[places.size()]);
  }

  private String render(String[] casts) {
    StringBuilder text = new StringBuilder(fragments.get(0));
    for (int i = 0; i < casts.length; i++) {
      String cast = casts[i];
      boolean closed = cast != null && places.get(i).indirection();
      text.append(closed ? "($" : "$").append(i + 1);
      if (cast != null) {
        text.append("::").append(cast).append(closed ? ")" : "");
      }
      text.append(fragments.get(i + 1));
    }
    return text.toString();
  }

  /**
   * The statement with RETURNING and a list of columns, unless it changes nothing or returns rows
   * already.
   */
  ParsedSql returning(String columns) {
    if (!CHANGES.contains(kind) || returning || isScript()) {
      return this;
    }
    String[] changed = fragments.toArray(String[]::new);
    int last = changed.length - 1;
    changed[last] =
        changed[last].substring(0, end) + " returning " + columns + changed[last].substring(end);
    return new ParsedSql(List.of(changed), places, statements, kind, true, end);
  }

  /** Whether it calls a procedure. */
  boolean isCall() {
    return kind.equals("call");
  }

  /** Whether it changes rows and could return them. */
  boolean isChange() {
    return CHANGES.contains(kind);
  }
}
