package dev.howdah.pg;

import dev.howdah.pg.types.Codec;
import dev.howdah.pg.wire.BigEndian;
import dev.howdah.pg.wire.WireOutput;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.math.BigDecimal;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/**
 * A row: a part of a result's bytes, each cell decoded when it is first read.
 *
 * <p>Columns are named by index from 0 or by name; of several columns with one name, the first is
 * meant. A row does not change and is safe to share between threads. It stays readable when the
 * connection is closed. {@link #detach} parts it from the rows around it, for those who keep one of
 * many.
 *
 * <p>Threads need no lock. The bytes were written before the row was made and are reached through
 * final fields. A cell is null until some thread has decoded it; values are immutable, so one that
 * is decoded twice is harmless. The hint is a single int that is right whoever wrote it.
 */
public class Row {
  private static final VarHandle CELLS;
  private static final VarHandle CELL = MethodHandles.arrayElementVarHandle(Object[].class);

  static {
    try {
      CELLS = MethodHandles.lookup().findVarHandle(Row.class, "cells", Object[].class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  /**
   * What stands in a cell for something that cannot stand there itself: SQL's null, since null
   * means not decoded, and bytes that may be changed, which other threads see whole because they
   * reach them through a final field.
   */
  private record Held(Object value) {}

  private static final Held NULL = new Held(null);

  /** The hint has 11 bits for a column and 21 for its position in the row. */
  private static final int POSITION_BITS = 21;

  private static final int MOST_COLUMN = 1 << 11;

  private final Segment segment;
  private final int start;
  private Object[] cells;

  /**
   * The column found last and where, so that reading from left to right takes one step for each
   * column.
   */
  private int hint;

  /** A row for a maker of rows. */
  protected Row(Segment segment, int start) {
    this.segment = segment;
    this.start = start;
  }

  /** The maker that made this row. */
  protected final RowMaker maker() {
    return segment.maker;
  }

  /** The columns, names and codecs. */
  public final Shape shape() {
    return segment.shape;
  }

  /** The columns in order. */
  public final List<Column> columns() {
    return segment.shape.columns();
  }

  /** The number of columns. */
  public final int width() {
    return segment.shape.size();
  }

  /** Where the length of a column's value stands in the segment. */
  private int find(int column) {
    byte[] bytes = segment.bytes;
    int last = hint;
    int at = column(last);
    int position = start + (last & ((1 << POSITION_BITS) - 1));
    if (last == 0 || at > column) {
      at = 0;
      position = start + 2;
    }
    if (at == column) {
      return position;
    }
    while (at < column) {
      int length = BigEndian.int4(bytes, position);
      // For null, -1, the mask makes it 0 without a branch.
      position += 4 + (length & ~(length >> 31));
      at++;
    }
    return position;
  }

  /** Where the length of a column's value stands, which is likely to be asked for again. */
  private int locate(int column) {
    int position = find(column);
    point(column, position - start);
    return position;
  }

  private void point(int column, int distance) {
    if (distance < 1 << POSITION_BITS && column < MOST_COLUMN) {
      hint = column << POSITION_BITS | distance;
    }
  }

  private static int column(int hint) {
    return hint >>> POSITION_BITS;
  }

  private Codec codec(int column) {
    Codec[] codecs = segment.shape.codecs;
    if (column < 0 || column >= codecs.length) {
      throw new PgException(
          "42703", "there is no column " + column + " in a row of " + codecs.length);
    }
    return codecs[column];
  }

  /** Where a value that must not be null begins; its length is 4 bytes before it. */
  private int value(int column) {
    int at = locate(column);
    if (BigEndian.int4(segment.bytes, at) < 0) {
      throw new PgException(
          "22002",
          "column "
              + columns().get(column).name()
              + " is null; ask isNull first, or getObject, which returns null");
    }
    return at + 4;
  }

  /** Whether a value is SQL's null. */
  public final boolean isNull(int column) {
    codec(column);
    Object[] known = cells;
    if (known != null && known[column] != null) {
      return known[column] == NULL;
    }
    return BigEndian.int4(segment.bytes, locate(column)) < 0;
  }

  /** Whether a value is SQL's null. */
  public final boolean isNull(String column) {
    return isNull(shape().index(column));
  }

  /** A number as a long; null and numbers that are not whole or do not fit are errors. */
  public final long getLong(int column) {
    Codec codec = codec(column);
    int at = value(column);
    return codec.int8(segment.bytes, at, BigEndian.int4(segment.bytes, at - 4));
  }

  /** A number as a long; null and numbers that are not whole or do not fit are errors. */
  public final long getLong(String column) {
    return getLong(shape().index(column));
  }

  /** A number as an int; null and numbers that are not whole or do not fit are errors. */
  public final int getInt(int column) {
    long value = getLong(column);
    if (value != (int) value) {
      throw new PgException(
          "22003", value + " of column " + columns().get(column).name() + " does not fit an int");
    }
    return (int) value;
  }

  /** A number as an int; null and numbers that are not whole or do not fit are errors. */
  public final int getInt(String column) {
    return getInt(shape().index(column));
  }

  /** A number as a double; null is an error. */
  public final double getDouble(int column) {
    Codec codec = codec(column);
    int at = value(column);
    return codec.float8(segment.bytes, at, BigEndian.int4(segment.bytes, at - 4));
  }

  /** A number as a double; null is an error. */
  public final double getDouble(String column) {
    return getDouble(shape().index(column));
  }

  /** A boolean; null is an error. */
  public final boolean getBoolean(int column) {
    Codec codec = codec(column);
    int at = value(column);
    return codec.bool(segment.bytes, at, BigEndian.int4(segment.bytes, at - 4));
  }

  /** A boolean; null is an error. */
  public final boolean getBoolean(String column) {
    return getBoolean(shape().index(column));
  }

  /**
   * A date or time in microseconds without making an object: since 1970-01-01 00:00:00 UTC, or
   * since midnight for a time of day. The infinite ones are the greatest and the least long. Null
   * is an error.
   */
  public final long getMicros(int column) {
    Codec codec = codec(column);
    int at = value(column);
    return codec.micros(segment.bytes, at, BigEndian.int4(segment.bytes, at - 4));
  }

  /** A date or time in microseconds, see {@link #getMicros(int)}. */
  public final long getMicros(String column) {
    return getMicros(shape().index(column));
  }

  /** Any value as the server's own text of it, null for null. */
  public final String getString(int column) {
    Codec codec = codec(column);
    int at = locate(column) + 4;
    int length = BigEndian.int4(segment.bytes, at - 4);
    return length < 0 ? null : codec.string(segment.bytes, at, length);
  }

  /** Any value as the server's own text of it, null for null. */
  public final String getString(String column) {
    return getString(shape().index(column));
  }

  /**
   * The bytes of a value as they came: of bytea its content, of other types their wire form. Null
   * for null.
   */
  public final byte[] getBytes(int column) {
    Codec codec = codec(column);
    int at = locate(column) + 4;
    int length = BigEndian.int4(segment.bytes, at - 4);
    if (length < 0) {
      return null;
    }
    if (!codec.binary() && codec.name().equals("bytea")) {
      return (byte[]) codec.decode(segment.bytes, at, length);
    }
    return Arrays.copyOfRange(segment.bytes, at, at + length);
  }

  /** The bytes of a value as they came, see {@link #getBytes(int)}. */
  public final byte[] getBytes(String column) {
    return getBytes(shape().index(column));
  }

  /**
   * A value as the object of its type, null for null; decoded at the first call and kept. What has
   * an array of bytes in it is made anew at each call, as whoever gets it may change it.
   */
  public final Object getObject(int column) {
    Object[] known = cells;
    if (known != null && column >= 0 && column < known.length) {
      Object value = known[column];
      if (value != null) {
        return value instanceof Held held ? held.value() : value;
      }
    }
    return decode(column);
  }

  /** An array that another thread has made meanwhile may hold what must be held once. */
  private Object[] newCells() {
    Object[] made = new Object[width()];
    if (!holdsArrays()) {
      cells = made;
      return made;
    }
    Object[] others = (Object[]) CELLS.compareAndExchange(this, null, made);
    return others == null ? made : others;
  }

  private Object decode(int column) {
    Codec codec = codec(column);
    Object[] known = cells;
    if (known == null) {
      known = newCells();
    }
    byte[] bytes = segment.bytes;
    int at = find(column) + 4;
    int length = BigEndian.int4(bytes, at - 4);
    // Whoever reads from left to right asks for the next one.
    point(column + 1, at + Math.max(0, length) - start);
    Object value = length < 0 ? null : codec.decode(bytes, at, length);
    if (value == null) {
      known[column] = NULL;
    } else if (codec.cacheable()) {
      known[column] = value;
    } else if (holdsArrays()) {
      Object others = CELL.compareAndExchange(known, column, null, new Held(value));
      return others == null ? value : ((Held) others).value();
    }
    return value;
  }

  /**
   * Whether what could be changed, an array of bytes and what has one in it, is the same object at
   * each read, to all threads. It must then not be changed. Plain rows make another each time.
   */
  protected boolean holdsArrays() {
    return false;
  }

  /** A value as the object of its type, null for null. */
  public final Object getObject(String column) {
    return getObject(shape().index(column));
  }

  /**
   * A value as an object of the given class, which must be the one of its type; String takes any
   * value.
   */
  public final <T> T getObject(int column, Class<T> type) {
    if (type == String.class) {
      return type.cast(getString(column));
    }
    if (type == Long.class && !isNull(column)) {
      return type.cast(getLong(column));
    }
    Object value = getObject(column);
    if (value != null && !type.isInstance(value)) {
      throw new PgException(
          "22005",
          "column "
              + columns().get(column).name()
              + " holds "
              + value.getClass().getName()
              + ", not "
              + type.getName());
    }
    return type.cast(value);
  }

  /** A value as an object of the given class, see {@link #getObject(int, Class)}. */
  public final <T> T getObject(String column, Class<T> type) {
    return getObject(shape().index(column), type);
  }

  /** A numeric; null for null, an error for NaN and the infinities. */
  public final BigDecimal getBigDecimal(int column) {
    Object value = getObject(column);
    if (value instanceof Integer || value instanceof Long) {
      return BigDecimal.valueOf(((Number) value).longValue());
    }
    return getObject(column, BigDecimal.class);
  }

  /** A numeric, see {@link #getBigDecimal(int)}. */
  public final BigDecimal getBigDecimal(String column) {
    return getBigDecimal(shape().index(column));
  }

  /** A uuid, null for null. */
  public final UUID getUuid(int column) {
    return getObject(column, UUID.class);
  }

  /** A uuid, null for null. */
  public final UUID getUuid(String column) {
    return getUuid(shape().index(column));
  }

  /** All values in order. */
  public final Object[] toArray() {
    Object[] values = new Object[width()];
    if (cells != null || holdsArrays()) {
      for (int i = 0; i < values.length; i++) {
        values[i] = getObject(i);
      }
      return values;
    }
    // Who takes all of them holds them: the row need not.
    byte[] bytes = segment.bytes;
    Codec[] codecs = segment.shape.codecs;
    int at = start + 2;
    for (int i = 0; i < values.length; i++) {
      int length = BigEndian.int4(bytes, at);
      at += 4;
      if (length >= 0) {
        values[i] = codecs[i].decode(bytes, at, length);
        at += length;
      }
    }
    return values;
  }

  /**
   * All values by name, in the order of the columns; of columns with one name the first. The map
   * does not change.
   */
  public final Map<String, Object> toMap() {
    return new RowMap(segment.shape, toArray());
  }

  /** This row with bytes of its own, so that it keeps no other row of its result in memory. */
  public final Row detach() {
    return segment.size() == 1 ? this : segment.maker.row(segment.alone(start), 0);
  }

  /**
   * Writes the row as a JSON object, straight from the bytes, as the server's row_to_json would.
   */
  public final void writeJson(OutputStream out) throws IOException {
    WireOutput buffer = new WireOutput(256);
    shape().json().row(segment.bytes, start, buffer);
    out.write(buffer.array(), 0, buffer.size());
  }

  /** The row as a JSON object. */
  public final String toJson() {
    WireOutput buffer = new WireOutput(256);
    shape().json().row(segment.bytes, start, buffer);
    return new String(buffer.array(), 0, buffer.size(), java.nio.charset.StandardCharsets.UTF_8);
  }

  /** The row as an EDN map; its names are keywords. */
  public final String toEdn() {
    WireOutput buffer = new WireOutput(256);
    new EdnRows(shape()).row(segment.bytes, start, buffer);
    return new String(buffer.array(), 0, buffer.size(), java.nio.charset.StandardCharsets.UTF_8);
  }

  @Override
  public String toString() {
    StringBuilder text = new StringBuilder("{");
    for (int i = 0; i < width(); i++) {
      text.append(i > 0 ? ", " : "")
          .append(columns().get(i).name())
          .append('=')
          .append(getString(i));
    }
    return text.append('}').toString();
  }

  /**
   * Whether bytes have the form of a row: the right count, and lengths that add up to the whole.
   */
  static boolean wellFormed(byte[] bytes, int offset, int length, int columns) {
    if (length < 2 || BigEndian.uint2(bytes, offset) != columns) {
      return false;
    }
    int end = offset + length;
    int at = offset + 2;
    for (int i = 0; i < columns; i++) {
      if (end - at < 4) {
        return false;
      }
      int size = BigEndian.int4(bytes, at);
      at += 4;
      if (size > 0) {
        if (size > end - at) {
          return false;
        }
        at += size;
      } else if (size < -1) {
        return false;
      }
    }
    return at == end;
  }
}
