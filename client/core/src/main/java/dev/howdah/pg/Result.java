package dev.howdah.pg;

import dev.howdah.pg.wire.WireOutput;
import java.io.OutputStream;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.AbstractList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.RandomAccess;

/**
 * All rows of one statement, an unchangeable list. Rows are made when they are asked for, and cells
 * are decoded when they are read.
 */
public final class Result extends AbstractList<Row> implements RandomAccess {
  private static final Segment[] NONE = {};
  private static final VarHandle TABLES;
  private static final VarHandle TABLE = MethodHandles.arrayElementVarHandle(Row[][].class);
  private static final VarHandle ROW = MethodHandles.arrayElementVarHandle(Row[].class);

  static {
    try {
      TABLES = MethodHandles.lookup().findVarHandle(Result.class, "handedOut", Row[][].class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final Shape shape;
  private final Segment[] segments;

  /** The index of each segment's first row. */
  private final int[] firsts;

  private final int size;
  private final String tag;

  /**
   * The rows handed out of each segment, made when the first one is. Of threads that make one at
   * once the first is heard, since a row of Clojure's is a value down to its arrays. They are here
   * and not in the segment, so that a row that survives keeps no other.
   */
  private Row[][] handedOut;

  Result(Shape shape, Segment[] segments, String tag) {
    this.shape = shape;
    this.segments = segments.length == 0 ? NONE : segments;
    this.firsts = new int[segments.length];
    int count = 0;
    for (int i = 0; i < segments.length; i++) {
      firsts[i] = count;
      count = Math.addExact(count, segments[i].size());
    }
    this.size = count;
    this.tag = tag;
  }

  /** The columns; none for a statement that returns no rows. */
  public List<Column> columns() {
    return shape.columns();
  }

  /** Columns, names and codecs. */
  public Shape shape() {
    return shape;
  }

  /** What the server says was done, such as INSERT 0 1; empty for an empty statement. */
  public String tag() {
    return tag;
  }

  /**
   * How many rows the statement inserted, updated, deleted, copied or returned; 0 if it does no
   * such thing.
   */
  public long count() {
    return count(tag);
  }

  static long count(String tag) {
    int space = tag.lastIndexOf(' ');
    if (space < 0
        || space == tag.length() - 1
        || tag.charAt(space + 1) < '0'
        || tag.charAt(space + 1) > '9') {
      return 0;
    }
    try {
      return Long.parseLong(tag, space + 1, tag.length(), 10);
    } catch (NumberFormatException e) {
      return 0;
    }
  }

  /**
   * Whether the statement returns rows, be it none. One like create table … as does not, though its
   * tag counts some.
   */
  public boolean hasRows() {
    return shape != Shape.NO_ROWS;
  }

  @Override
  public int size() {
    return size;
  }

  @Override
  public Row get(int index) {
    java.util.Objects.checkIndex(index, size);
    int segment = segment(index);
    return row(segment, index - firsts[segment]);
  }

  /** The row of a segment: the same object each time, to all threads. */
  private Row row(int segment, int index) {
    Row[] known = table(segment);
    Row row = known[index];
    if (row != null) {
      return row;
    }
    Row made = segments[segment].row(index);
    Row other = (Row) ROW.compareAndExchange(known, index, (Row) null, made);
    return other != null ? other : made;
  }

  private Row[] table(int segment) {
    Row[][] tables = handedOut;
    if (tables == null) {
      Row[][] made = new Row[segments.length][];
      Row[][] other = (Row[][]) TABLES.compareAndExchange(this, (Row[][]) null, made);
      tables = other != null ? other : made;
    }
    Row[] known = tables[segment];
    if (known == null) {
      Row[] made = new Row[segments[segment].size()];
      Row[] other = (Row[]) TABLE.compareAndExchange(tables, segment, (Row[]) null, made);
      known = other != null ? other : made;
    }
    return known;
  }

  /** The same rows, read in another way. */
  Result as(Shape other, RowMaker.Factory maker) {
    RowMaker made = other.maker(maker);
    return new Result(
        other,
        Arrays.stream(segments).map(segment -> segment.as(other, made)).toArray(Segment[]::new),
        tag);
  }

  /** The row at an index, made anew: the result keeps neither it nor what is decoded of it. */
  public Row passing(int index) {
    java.util.Objects.checkIndex(index, size);
    int segment = segment(index);
    return segments[segment].row(index - firsts[segment]);
  }

  private int segment(int index) {
    int found = Arrays.binarySearch(firsts, index);
    return found >= 0 ? found : -found - 2;
  }

  /** How many bytes the body of a row's message had. */
  int bodyLength(int index) {
    int segment = segment(index);
    return segments[segment].length(index - firsts[segment]);
  }

  /** The first row with bytes of its own, or null if there is none. */
  public Row first() {
    return size == 0 ? null : get(0).detach();
  }

  @Override
  public Iterator<Row> iterator() {
    return new Rows();
  }

  private final class Rows implements Iterator<Row> {
    private int segment;
    private int index;

    @Override
    public boolean hasNext() {
      return segment < segments.length;
    }

    @Override
    public Row next() {
      if (segment >= segments.length) {
        throw new NoSuchElementException();
      }
      Row row = Result.this.row(segment, index++);
      if (index == segments[segment].size()) {
        index = 0;
        segment++;
      }
      return row;
    }
  }

  /** Writes the rows as a JSON array of objects, straight from the bytes; returns their number. */
  public long writeJson(OutputStream out) {
    return write(Shape::json, out);
  }

  /** Writes the rows as an EDN vector of maps, straight from the bytes; returns their number. */
  public long writeEdn(OutputStream out) {
    return write(EdnRows::new, out);
  }

  /** Writes the rows as CSV with a line of names, straight from the bytes; returns their number. */
  public long writeCsv(OutputStream out) {
    return write(CsvRows::new, out);
  }

  private long write(RowNotation.Factory notation, OutputStream out) {
    RowWriter writer = new RowWriter(notation, out, new WireOutput(1 << 13));
    writer.begin(shape);
    for (Segment segment : segments) {
      writer.segment(segment);
    }
    return writer.end(tag);
  }

  @Override
  public String toString() {
    return "Result of " + size + " rows (" + tag + ")";
  }
}
