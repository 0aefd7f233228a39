package dev.howdah.pg;

import dev.howdah.pg.types.Codec;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What all rows of a statement have in common: columns, names and codecs. One object for every row
 * of every execution, and immutable: a row reads tomorrow as it read today, whatever became of the
 * connection.
 */
public final class Shape {
  /**
   * What a statement has that returns no rows; one that returns rows without columns has another.
   */
  static final Shape NO_ROWS = new Shape(List.of());

  private final List<Column> columns;
  private final Map<String, Integer> indexes;
  final Codec[] codecs;

  /** The row maker that was asked for last; a statement is nearly always asked for the same. */
  private volatile Made made;

  /**
   * How rows are written as JSON; made when it is first asked for, twice if two threads ask at
   * once.
   */
  private JsonRows json;

  private record Made(RowMaker.Factory factory, RowMaker maker) {}

  /** The shape of these columns. */
  public Shape(List<Column> columns) {
    this.columns = List.copyOf(columns);
    this.codecs = columns.stream().map(Column::codec).toArray(Codec[]::new);
    Map<String, Integer> names = new HashMap<>();
    for (int i = columns.size() - 1; i >= 0; i--) {
      names.put(columns.get(i).name(), i);
    }
    this.indexes = names;
  }

  /** The columns in order. */
  public List<Column> columns() {
    return columns;
  }

  /** The number of columns. */
  public int size() {
    return codecs.length;
  }

  /** The index of a name, -1 if there is none. Of several columns with the name it is the first. */
  public int indexOf(String name) {
    Integer index = indexes.get(name);
    return index == null ? -1 : index;
  }

  /** How many names there are. */
  int names() {
    return indexes.size();
  }

  /** Whether a column's name means it, and none before it. */
  boolean isFirst(int column) {
    return indexes.size() == codecs.length || indexes.get(columns.get(column).name()) == column;
  }

  /**
   * The columns' names made distinct: of those with one name, the first has it, the second gets _1
   * behind it, the third _2.
   */
  public List<String> distinctNames() {
    Set<String> taken = new HashSet<>();
    return columns.stream().map(column -> distinct(column.name(), taken)).toList();
  }

  private static String distinct(String name, Set<String> taken) {
    String candidate = name;
    for (int number = 1; !taken.add(candidate); number++) {
      candidate = name + "_" + number;
    }
    return candidate;
  }

  /** The same columns, their values in a format of COPY. */
  Shape mapped(CopyFormat format) {
    return new Shape(
        columns.stream()
            .map(
                column ->
                    new Column(
                        column.name(),
                        column.type(),
                        column.modifier(),
                        column.table(),
                        column.attribute(),
                        format.codec(column.codec(), column.name())))
            .toList());
  }

  int index(String name) {
    int index = indexOf(name);
    if (index < 0) {
      throw new PgException(
          "42703",
          "there is no column "
              + name
              + "; there are "
              + columns.stream().map(Column::name).toList());
    }
    return index;
  }

  JsonRows json() {
    JsonRows known = json;
    if (known == null) {
      known = new JsonRows(this);
      json = known;
    }
    return known;
  }

  RowMaker maker(RowMaker.Factory factory) {
    Made last = made;
    if (last == null || !last.factory().equals(factory)) {
      last = new Made(factory, factory.maker(this));
      made = last;
    }
    return last.maker();
  }
}
