package dev.howdah.pg.types;

import dev.howdah.pg.PgException;
import dev.howdah.pg.wire.BigEndian;
import dev.howdah.pg.wire.WireOutput;
import java.lang.reflect.Array;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.function.Function;

/**
 * Arrays as {@link PgArray}, or as what a function makes of it. Lists, arrays of objects and arrays
 * of primitives are taken, nested for more dimensions.
 */
final class ArrayCodec extends Codec {
  private static final int MOST_DIMENSIONS = 6;
  private static final int RECORD = 2249;

  private final Codec element;
  private final int elementOid;
  private final char delimiter;
  private final Function<PgArray, Object> present;

  ArrayCodec(
      String name,
      Codec element,
      int elementOid,
      char delimiter,
      Function<PgArray, Object> present) {
    super(name);
    this.element = element;
    this.elementOid = elementOid;
    this.delimiter = delimiter;
    this.present = present;
  }

  @Override
  public Codec element() {
    return element;
  }

  @Override
  public boolean binary() {
    return element.binary();
  }

  @Override
  public boolean cacheable() {
    return element.cacheable();
  }

  private Object presented(PgArray array) {
    return present == null ? array : present.apply(array);
  }

  /** The header of the binary form: its dimensions, checked against the bytes that are there. */
  private static final class Shape {
    final int[] lengths;
    final int[] lowerBounds;
    final int total;
    final int start;

    Shape(byte[] bytes, int offset, int length, ArrayCodec codec) {
      int dimensions = length < 12 ? -1 : BigEndian.int4(bytes, offset);
      if (dimensions < 0 || dimensions > MOST_DIMENSIONS || length < 12 + 8 * dimensions) {
        throw codec.broken(length);
      }
      // Rows of any type are an array of records.
      if (codec.elementOid != RECORD && BigEndian.int4(bytes, offset + 8) != codec.elementOid) {
        throw codec.otherElements(BigEndian.int4(bytes, offset + 8));
      }
      int[] counts = new int[dimensions];
      int[] bounds = new int[dimensions];
      long product = dimensions == 0 ? 0 : 1;
      start = offset + 12 + 8 * dimensions;
      for (int i = 0; i < dimensions; i++) {
        counts[i] = BigEndian.int4(bytes, offset + 12 + 8 * i);
        bounds[i] = BigEndian.int4(bytes, offset + 16 + 8 * i);
        product = counts[i] < 0 ? Integer.MAX_VALUE : product * counts[i];
        if (product > (offset + length - start) / 4
            || (long) bounds[i] + counts[i] > Integer.MAX_VALUE) {
          throw codec.broken(length);
        }
      }
      total = (int) product;
      // Without elements there are no dimensions, or a long one of empty ones would be a list
      // without end.
      lengths = total == 0 ? new int[0] : counts;
      lowerBounds = total == 0 ? new int[0] : bounds;
    }
  }

  private PgException otherElements(int oid) {
    return new PgException(
        "22P03",
        "the server sent a value of type "
            + name()
            + " whose elements are of type "
            + Integer.toUnsignedString(oid)
            + ", not "
            + Integer.toUnsignedString(elementOid));
  }

  /** The length of the element at a position; -1 for null. */
  private int elementLength(byte[] bytes, int at, int end) {
    int length = end - at < 4 ? Integer.MAX_VALUE : BigEndian.int4(bytes, at);
    if (length < -1 || length > end - at - 4) {
      throw broken(end - at);
    }
    return length;
  }

  /** Behind the last element nothing may follow. */
  private void checkEnd(int at, int end) {
    if (at != end) {
      throw broken(end - at);
    }
  }

  @Override
  public Object decode(byte[] bytes, int offset, int length) {
    Shape shape = new Shape(bytes, offset, length, this);
    Object[] elements = new Object[shape.total];
    int end = offset + length;
    int at = shape.start;
    for (int i = 0; i < elements.length; i++) {
      int size = elementLength(bytes, at, end);
      if (size >= 0) {
        elements[i] = element.decode(bytes, at + 4, size);
      }
      at += 4 + Math.max(0, size);
    }
    checkEnd(at, end);
    return presented(new PgArray(elements, shape.lengths, shape.lowerBounds));
  }

  @Override
  public void text(byte[] bytes, int offset, int length, WireOutput out) {
    Shape shape = new Shape(bytes, offset, length, this);
    bounds(shape.lengths, shape.lowerBounds, out);
    write(bytes, shape, offset + length, '{', delimiter, '}', null, out);
  }

  private static void bounds(int[] lengths, int[] lowerBounds, WireOutput out) {
    boolean plain = true;
    for (int bound : lowerBounds) {
      plain &= bound == 1;
    }
    if (plain) {
      return;
    }
    for (int i = 0; i < lengths.length; i++) {
      out.text("[" + lowerBounds[i] + ":" + (lowerBounds[i] + lengths[i] - 1) + "]");
    }
    out.int1('=');
  }

  @Override
  public void json(byte[] bytes, int offset, int length, WireOutput out) {
    write(
        bytes,
        new Shape(bytes, offset, length, this),
        offset + length,
        '[',
        ',',
        ']',
        Notation.JSON,
        out);
  }

  @Override
  public void jsonOfText(byte[] utf8, int offset, int length, WireOutput out) {
    write(
        parsed(new String(utf8, offset, length, StandardCharsets.UTF_8), true), Notation.JSON, out);
  }

  @Override
  public void edn(byte[] bytes, int offset, int length, WireOutput out) {
    write(
        bytes,
        new Shape(bytes, offset, length, this),
        offset + length,
        '[',
        ' ',
        ']',
        Notation.EDN,
        out);
  }

  @Override
  public void ednOfText(byte[] utf8, int offset, int length, WireOutput out) {
    write(
        parsed(new String(utf8, offset, length, StandardCharsets.UTF_8), true), Notation.EDN, out);
  }

  private void write(PgArray array, Notation notation, WireOutput out) {
    out.int1('[');
    for (int i = 0; i < array.size(); i++) {
      if (i > 0) {
        out.text(notation.betweenElements);
      }
      Object value = array.get(i);
      if (value == null) {
        notation.nothing(out);
      } else if (value instanceof PgArray inner) {
        write(inner, notation, out);
      } else {
        byte[] text = ((String) value).getBytes(StandardCharsets.UTF_8);
        notation.valueOfText(element, text, 0, text.length, out);
      }
    }
    out.int1(']');
  }

  /**
   * Writes all elements in order; a bracket opens and closes wherever a dimension begins and ends.
   * Without a notation it is the server's text.
   */
  private void write(
      byte[] bytes,
      Shape shape,
      int end,
      char open,
      char between,
      char close,
      Notation notation,
      WireOutput out) {
    int at = shape.start;
    if (shape.total == 0) {
      checkEnd(at, end);
      out.int1(open);
      out.int1(close);
      return;
    }
    for (int i = 0; i < shape.total; i++) {
      if (i > 0) {
        out.int1(between);
      }
      brackets(i, shape.lengths, open, out);
      int size = elementLength(bytes, at, end);
      element(bytes, at + 4, size, notation, out);
      at += 4 + Math.max(0, size);
      brackets(i + 1, shape.lengths, close, out);
    }
    checkEnd(at, end);
  }

  /**
   * A dimension begins or ends wherever the count of elements so far is a multiple of what it
   * holds.
   */
  private static void brackets(int count, int[] lengths, char bracket, WireOutput out) {
    int size = 1;
    int brackets = 0;
    // Written together: the closing bracket of the inner and the outer dimension follow each other.
    for (int i = lengths.length - 1; i >= 0; i--) {
      size *= lengths[i];
      if (count % size == 0) {
        brackets++;
      }
    }
    for (int i = 0; i < brackets; i++) {
      out.int1(bracket);
    }
  }

  private void element(byte[] bytes, int at, int size, Notation notation, WireOutput out) {
    if (notation != null) {
      if (size < 0) {
        notation.nothing(out);
      } else {
        notation.value(element, bytes, at, size, out);
      }
      return;
    }
    if (size < 0) {
      out.text("NULL");
      return;
    }
    WireOutput scratch = new WireOutput(size * 2 + 8);
    element.text(bytes, at, size, scratch);
    out.text(quoted(new String(scratch.array(), 0, scratch.size(), StandardCharsets.UTF_8)));
  }

  private String quoted(String text) {
    return text.equalsIgnoreCase("null") || Quoting.needed(text, "{}" + delimiter)
        ? Quoting.escaped(text)
        : text;
  }

  @Override
  public Object parse(String text) {
    return presented(parsed(text, false));
  }

  private PgArray parsed(String text, boolean raw) {
    Quoting.Reader reader = new Quoting.Reader(text, this);
    List<Integer> lower = new ArrayList<>();
    List<Integer> upper = new ArrayList<>();
    while (reader.take('[')) {
      lower.add(bound(reader.part(":"), text));
      reader.expect(':');
      upper.add(bound(reader.part("]"), text));
      reader.expect(']');
    }
    if (!lower.isEmpty()) {
      reader.expect('=');
    }
    List<Object> flat = new ArrayList<>();
    List<Integer> lengths = new ArrayList<>();
    level(reader, 0, lengths, flat, raw, text);
    reader.end();
    if (flat.isEmpty() && lower.isEmpty()) {
      return new PgArray(new Object[0], new int[0], new int[0]);
    }
    int dimensions = lengths.size();
    int[] bounds = new int[dimensions];
    java.util.Arrays.fill(bounds, 1);
    if (!lower.isEmpty()) {
      checkBounds(lower, upper, lengths, text);
      java.util.Arrays.setAll(bounds, lower::get);
    }
    return new PgArray(
        flat.toArray(), lengths.stream().mapToInt(Integer::intValue).toArray(), bounds);
  }

  /** The bounds are those of as many elements as there are. */
  private void checkBounds(
      List<Integer> lower, List<Integer> upper, List<Integer> lengths, String text) {
    boolean fits = lower.size() == lengths.size();
    for (int i = 0; fits && i < lower.size(); i++) {
      fits = lengths.get(i) > 0 && (long) upper.get(i) - lower.get(i) + 1 == lengths.get(i);
    }
    if (!fits) {
      throw malformed(text);
    }
  }

  private int bound(String number, String text) {
    try {
      return Integer.parseInt(number);
    } catch (NumberFormatException e) {
      throw malformed(text);
    }
  }

  /**
   * Reads what is between two braces. All of one depth hold as many, and the innermost alone hold
   * elements.
   */
  private void level(
      Quoting.Reader reader,
      int depth,
      List<Integer> lengths,
      List<Object> flat,
      boolean raw,
      String text) {
    reader.expect('{');
    boolean first = depth == lengths.size();
    if (first) {
      lengths.add(0);
    }
    int count = 0;
    if (!reader.take('}')) {
      do {
        boolean nested = reader.peek() == '{';
        // The first one goes down to where elements are; every other must find them as deep.
        boolean innermost = depth + 1 == lengths.size() && !(first && count == 0);
        if (nested ? innermost || depth + 1 == MOST_DIMENSIONS : depth + 1 != lengths.size()) {
          throw malformed(text);
        }
        if (nested) {
          level(reader, depth + 1, lengths, flat, raw, text);
        } else {
          flat.add(item(reader, raw, text));
        }
        count++;
      } while (reader.take(delimiter));
      reader.expect('}');
    }
    if (first) {
      lengths.set(depth, count);
    } else if (lengths.get(depth) != count) {
      throw malformed(text);
    }
  }

  private Object item(Quoting.Reader reader, boolean raw, String text) {
    boolean quoted = reader.peek() == '"';
    int start = reader.position();
    String item = reader.part(delimiter + "}");
    if (quoted) {
      return raw ? item : element.parse(item);
    }
    if (item.isEmpty() || reader.since(start).indexOf('{') >= 0) {
      throw malformed(text);
    }
    return item.equals("NULL") ? null : raw ? item : element.parse(item);
  }

  @Override
  public void encode(Object value, WireOutput out) {
    PgArray array = toArray(value);
    out.int4(array.dimensions());
    int hasNulls = out.reserveInt4();
    out.int4(elementOid);
    int[] lengths = array.lengths();
    int[] lower = array.lowerBounds();
    for (int i = 0; i < lengths.length; i++) {
      out.int4(lengths[i]);
      out.int4(lower[i]);
    }
    for (int i = 0; i < array.total(); i++) {
      Object item = array.flat()[array.from() + i];
      if (item == null) {
        out.int4(-1);
        BigEndian.int4(out.array(), hasNulls, 1);
        continue;
      }
      int start = out.reserveInt4();
      Object typed =
          item instanceof String text && !(element instanceof TextCodec)
              ? element.parse(text)
              : item;
      element.encode(typed, out);
      out.storeLength(start);
    }
  }

  @Override
  public String format(Object value) {
    if (value instanceof String text) {
      return text;
    }
    PgArray array = toArray(value);
    WireOutput out = new WireOutput(64);
    int[] lengths = array.lengths();
    bounds(lengths, array.lowerBounds(), out);
    if (array.total() == 0) {
      return "{}";
    }
    for (int i = 0; i < array.total(); i++) {
      if (i > 0) {
        out.int1(delimiter);
      }
      brackets(i, lengths, '{', out);
      Object item = array.flat()[array.from() + i];
      out.text(item == null ? "NULL" : quoted(element.format(item)));
      brackets(i + 1, lengths, '}', out);
    }
    return new String(out.array(), 0, out.size(), StandardCharsets.UTF_8);
  }

  private PgArray toArray(Object value) {
    if (value instanceof PgArray array) {
      return array;
    }
    List<Integer> lengths = new ArrayList<>();
    List<Object> flat = new ArrayList<>();
    flatten(value, 0, lengths, flat);
    if (flat.isEmpty()) {
      return new PgArray(new Object[0], new int[0], new int[0]);
    }
    int[] sizes = lengths.stream().mapToInt(Integer::intValue).toArray();
    int[] bounds = new int[sizes.length];
    java.util.Arrays.fill(bounds, 1);
    return new PgArray(flat.toArray(), sizes, bounds);
  }

  private static boolean nests(Object value, Codec element) {
    return value instanceof List<?> && !(element instanceof CompositeCodec)
        || value != null && value.getClass().isArray() && !(value instanceof byte[]);
  }

  /** Lays nested lists out in a row; all lists of one depth must be of one length. */
  private void flatten(Object value, int depth, List<Integer> lengths, List<Object> flat) {
    int length;
    Object source = value instanceof Collection<?> collection ? collection.toArray() : value;
    if (!source.getClass().isArray() || source instanceof byte[]) {
      throw refuse(value);
    }
    length = Array.getLength(source);
    if (depth == lengths.size()) {
      lengths.add(length);
    } else if (lengths.get(depth) != length) {
      throw refuse(value);
    }
    for (int i = 0; i < length; i++) {
      Object item = Array.get(source, i);
      if (nests(item, element)) {
        flatten(item, depth + 1, lengths, flat);
      } else if (depth + 1 != lengths.size()) {
        throw refuse(value);
      } else {
        flat.add(item);
      }
    }
  }
}
