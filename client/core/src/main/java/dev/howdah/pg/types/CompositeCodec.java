package dev.howdah.pg.types;

import dev.howdah.pg.wire.BigEndian;
import dev.howdah.pg.wire.WireOutput;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;

/**
 * Composite types and anonymous records as {@link Composite}; lists and maps are taken too.
 *
 * <p>The binary form names each field's type, so a value can be read even after the type was
 * altered. Its fields are named as a record's then, since nothing says which they are, and it is
 * not written as a value of the type. A field whose type is not known is text if its bytes are an
 * enum's label, and else bytes in hexadecimal.
 */
final class CompositeCodec extends Codec {
  private static final Codec UNKNOWN = new TextOnlyCodec("unknown");

  /**
   * The bytes say which types the fields have, so they could nest as deep as they are long, and
   * deeper than the stack.
   */
  private static final int MOST_DEPTH = 64;

  private static final ThreadLocal<int[]> DEPTH = ThreadLocal.withInitial(() -> new int[1]);

  /**
   * Each level of composites doubles the quotes within, so little could become all of the memory.
   */
  private static final int MOST_TEXT = 16 << 20;

  private static final int MOST_GROWTH = 1024;

  /** A field of a composite type. */
  record Field(String name, int oid, Codec codec) {}

  private final List<Field> fields;
  private final List<String> names;
  private final IntFunction<Codec> codecs;

  /** A codec for a type of these fields, or with null for records. */
  CompositeCodec(String name, List<Field> fields, IntFunction<Codec> codecs) {
    super(name);
    this.fields = fields;
    this.names = fields == null ? null : fields.stream().map(Field::name).toList();
    this.codecs = codecs;
  }

  @Override
  public boolean binary() {
    return fields == null || fields.stream().allMatch(field -> field.codec().binary());
  }

  @Override
  public boolean cacheable() {
    return fields != null && fields.stream().allMatch(field -> field.codec().cacheable());
  }

  /** Walks the fields of the binary form. */
  private interface Visitor {
    void field(int index, Codec codec, int at, int length);
  }

  private void visit(byte[] bytes, int offset, int length, Visitor visitor) {
    int[] depth = DEPTH.get();
    if (depth[0] == MOST_DEPTH) {
      throw broken(length);
    }
    depth[0]++;
    try {
      visitFields(bytes, offset, length, visitor);
    } finally {
      depth[0]--;
    }
  }

  private void visitFields(byte[] bytes, int offset, int length, Visitor visitor) {
    int count = count(bytes, offset, length);
    int end = offset + length;
    int at = offset + 4;
    for (int i = 0; i < count; i++) {
      int size = end - at < 8 ? Integer.MAX_VALUE : BigEndian.int4(bytes, at + 4);
      if (size < -1 || size > end - at - 8) {
        throw broken(length);
      }
      visitor.field(i, codec(i, BigEndian.int4(bytes, at)), at + 8, size);
      at += 8 + Math.max(0, size);
    }
    if (at != end) {
      throw broken(length);
    }
  }

  /** Whether the fields have the types that the type's fields have; a record's may have any. */
  private boolean hasOwnFields(byte[] bytes, int offset, int length) {
    if (fields == null) {
      return true;
    }
    if (count(bytes, offset, length) != fields.size()) {
      return false;
    }
    int end = offset + length;
    int at = offset + 4;
    for (Field field : fields) {
      if (end - at < 8 || BigEndian.int4(bytes, at) != field.oid()) {
        return false;
      }
      int size = Math.max(0, BigEndian.int4(bytes, at + 4));
      if (size > end - at - 8) {
        return false;
      }
      at += 8 + size;
    }
    return true;
  }

  private int count(byte[] bytes, int offset, int length) {
    int count = length < 4 ? -1 : BigEndian.int4(bytes, offset);
    if (count < 0 || count > length / 8) {
      throw broken(length);
    }
    return count;
  }

  private Codec codec(int index, int oid) {
    if (fields != null && index < fields.size() && fields.get(index).oid() == oid) {
      return fields.get(index).codec();
    }
    Codec codec = codecs.apply(oid);
    return codec == null ? UNKNOWN : codec;
  }

  @Override
  public Object decode(byte[] bytes, int offset, int length) {
    Object[] values = new Object[count(bytes, offset, length)];
    int[] otherTypes = hasOwnFields(bytes, offset, length) ? null : new int[values.length];
    visit(
        bytes,
        offset,
        length,
        (index, codec, at, size) -> {
          if (otherTypes != null) {
            otherTypes[index] = BigEndian.int4(bytes, at - 8);
          }
          if (size >= 0) {
            values[index] =
                codec.binary() ? codec.decode(bytes, at, size) : opaque(bytes, at, size);
          }
        });
    boolean named = names != null && otherTypes == null;
    return new Composite(named ? names : Composite.names(values.length), values, otherTypes);
  }

  private static String opaque(byte[] bytes, int at, int size) {
    for (int i = 0; i < size; i++) {
      if (bytes[at + i] < ' ') {
        WireOutput hex = new WireOutput(2 * size + 2);
        hex.text("\\x");
        SmallCodecs.hex(bytes, at, size, hex);
        return new String(hex.array(), 0, hex.size(), StandardCharsets.US_ASCII);
      }
    }
    return new String(bytes, at, size, StandardCharsets.UTF_8);
  }

  @Override
  public void text(byte[] bytes, int offset, int length, WireOutput out) {
    out.int1('(');
    visit(
        bytes,
        offset,
        length,
        (index, codec, at, size) -> {
          if (index > 0) {
            out.int1(',');
          }
          if (size >= 0) {
            out.text(quoted(textOf(bytes, codec, at, size)));
          }
        });
    out.int1(')');
  }

  private String textOf(byte[] bytes, Codec codec, int at, int size) {
    if (!codec.binary()) {
      return opaque(bytes, at, size);
    }
    WireOutput scratch = new WireOutput(Math.min(size, 1 << 10) + 8);
    codec.text(bytes, at, size, scratch);
    if (scratch.size() > MOST_TEXT + (long) size * MOST_GROWTH) {
      throw broken(size);
    }
    return new String(scratch.array(), 0, scratch.size(), StandardCharsets.UTF_8);
  }

  private static String quoted(String text) {
    return Quoting.needed(text, "(),") ? Quoting.doubled(text) : text;
  }

  @Override
  public void json(byte[] bytes, int offset, int length, WireOutput out) {
    write(bytes, offset, length, Notation.JSON, out);
  }

  @Override
  public void jsonOfText(byte[] utf8, int offset, int length, WireOutput out) {
    writeOfText(utf8, offset, length, Notation.JSON, out);
  }

  @Override
  public void edn(byte[] bytes, int offset, int length, WireOutput out) {
    write(bytes, offset, length, Notation.EDN, out);
  }

  @Override
  public void ednOfText(byte[] utf8, int offset, int length, WireOutput out) {
    writeOfText(utf8, offset, length, Notation.EDN, out);
  }

  private void write(byte[] bytes, int offset, int length, Notation notation, WireOutput out) {
    int count = count(bytes, offset, length);
    List<String> labels =
        names != null && hasOwnFields(bytes, offset, length) ? names : Composite.names(count);
    out.int1('{');
    visit(
        bytes,
        offset,
        length,
        (index, codec, at, size) -> {
          label(labels, index, notation, out);
          if (size < 0) {
            notation.nothing(out);
          } else if (codec.binary()) {
            notation.value(codec, bytes, at, size, out);
          } else {
            notation.string(opaque(bytes, at, size), out);
          }
        });
    out.int1('}');
  }

  private void writeOfText(byte[] utf8, int offset, int length, Notation notation, WireOutput out) {
    List<String> parts = parts(new String(utf8, offset, length, StandardCharsets.UTF_8));
    List<String> labels = names == null ? Composite.names(parts.size()) : names;
    out.int1('{');
    for (int i = 0; i < parts.size(); i++) {
      label(labels, i, notation, out);
      if (parts.get(i) == null) {
        notation.nothing(out);
      } else if (fields == null) {
        notation.string(parts.get(i), out);
      } else {
        byte[] part = parts.get(i).getBytes(StandardCharsets.UTF_8);
        notation.valueOfText(fields.get(i).codec(), part, 0, part.length, out);
      }
    }
    out.int1('}');
  }

  private static void label(List<String> labels, int index, Notation notation, WireOutput out) {
    if (index > 0) {
      out.text(notation.betweenMembers);
    }
    notation.label(labels.get(index), out);
    out.text(notation.behindLabel);
  }

  /** A record's fields have no known types in its text form, so they are strings there. */
  @Override
  public Object parse(String text) {
    List<String> parts = parts(text);
    Object[] values = new Object[parts.size()];
    for (int i = 0; i < values.length; i++) {
      String part = parts.get(i);
      values[i] = part == null || fields == null ? part : fields.get(i).codec().parse(part);
    }
    return new Composite(names == null ? Composite.names(values.length) : names, values);
  }

  private List<String> parts(String text) {
    Quoting.Reader reader = new Quoting.Reader(text, this);
    List<String> parts = new ArrayList<>();
    reader.expect('(');
    do {
      char next = reader.peek();
      parts.add(next == ',' || next == ')' ? null : reader.part(",)"));
    } while (reader.take(','));
    reader.expect(')');
    reader.end();
    if (fields != null && fields.isEmpty() && parts.size() == 1 && parts.get(0) == null) {
      parts.clear();
    }
    if (fields != null && parts.size() != fields.size()) {
      throw malformed(text);
    }
    return parts;
  }

  private List<?> values(Object value) {
    if (fields == null || value instanceof Composite composite && !hasOwnTypes(composite)) {
      throw refuse(value);
    }
    if (value instanceof Map<?, ?> map) {
      List<Object> values = new ArrayList<>();
      names.forEach(name -> values.add(map.get(name)));
      return values;
    }
    if (value instanceof List<?> list && list.size() == fields.size()) {
      return list;
    }
    throw refuse(value);
  }

  /** What was read of another type could be written as something else. */
  private boolean hasOwnTypes(Composite composite) {
    int[] types = composite.otherTypes();
    return types == null || Arrays.equals(types, fields.stream().mapToInt(Field::oid).toArray());
  }

  @Override
  public void encode(Object value, WireOutput out) {
    List<?> values = values(value);
    out.int4(fields.size());
    for (int i = 0; i < fields.size(); i++) {
      Field field = fields.get(i);
      Object item = values.get(i);
      out.int4(field.oid());
      if (item == null) {
        out.int4(-1);
        continue;
      }
      int start = out.reserveInt4();
      field.codec().encode(item instanceof String text ? field.codec().parse(text) : item, out);
      out.storeLength(start);
    }
  }

  @Override
  public String format(Object value) {
    if (value instanceof String text) {
      return text;
    }
    List<?> values = values(value);
    StringBuilder text = new StringBuilder("(");
    for (int i = 0; i < values.size(); i++) {
      text.append(i > 0 ? "," : "");
      if (values.get(i) != null) {
        text.append(quoted(fields.get(i).codec().format(values.get(i))));
      }
    }
    return text.append(')').toString();
  }
}
