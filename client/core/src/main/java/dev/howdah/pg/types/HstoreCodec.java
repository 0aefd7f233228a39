package dev.howdah.pg.types;

import dev.howdah.pg.PgException;
import dev.howdah.pg.wire.BigEndian;
import dev.howdah.pg.wire.WireOutput;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/** hstore as an unchangeable map of String to String or null. */
final class HstoreCodec extends Codec {
  HstoreCodec() {
    super("hstore");
  }

  @Override
  public Object decode(byte[] bytes, int offset, int length) {
    int count = length < 4 ? -1 : BigEndian.int4(bytes, offset);
    if (count < 0 || count > length / 8) {
      throw broken(length);
    }
    Map<String, String> map = new LinkedHashMap<>();
    int end = offset + length;
    int at = offset + 4;
    for (int i = 0; i < count; i++) {
      int keyLength = partLength(bytes, at, end, 0);
      String key = new String(bytes, at + 4, keyLength, StandardCharsets.UTF_8);
      at += 4 + keyLength;
      int valueLength = partLength(bytes, at, end, -1);
      map.put(
          key,
          valueLength < 0 ? null : new String(bytes, at + 4, valueLength, StandardCharsets.UTF_8));
      at += 4 + Math.max(0, valueLength);
    }
    if (at != end) {
      throw broken(length);
    }
    return Collections.unmodifiableMap(map);
  }

  private int partLength(byte[] bytes, int at, int end, int least) {
    int length = end - at < 4 ? Integer.MAX_VALUE : BigEndian.int4(bytes, at);
    if (length < least || length > end - at - 4) {
      throw broken(end - at);
    }
    return length;
  }

  private Map<?, ?> map(Object value) {
    if (value instanceof Map<?, ?> map) {
      return map;
    }
    throw refuse(value);
  }

  /** A map without a null among its keys, which hstore has not. */
  private Map<?, ?> keyed(Object value) {
    Map<?, ?> map = map(value);
    for (Object key : map.keySet()) {
      if (key == null) {
        throw new PgException("22004", "a key of an hstore cannot be null");
      }
    }
    return map;
  }

  @Override
  public void encode(Object value, WireOutput out) {
    Map<?, ?> map = keyed(value);
    out.int4(map.size());
    map.forEach(
        (key, item) -> {
          int start = out.reserveInt4();
          out.text(key.toString());
          out.storeLength(start);
          if (item == null) {
            out.int4(-1);
          } else {
            int itemStart = out.reserveInt4();
            out.text(item.toString());
            out.storeLength(itemStart);
          }
        });
  }

  @Override
  public void text(byte[] bytes, int offset, int length, WireOutput out) {
    out.text(format(decode(bytes, offset, length)));
  }

  @Override
  public String format(Object value) {
    if (value instanceof String text) {
      return text;
    }
    StringBuilder text = new StringBuilder();
    keyed(value)
        .forEach(
            (key, item) -> {
              text.append(text.isEmpty() ? "" : ", ")
                  .append(Quoting.escaped(key.toString()))
                  .append("=>");
              text.append(item == null ? "NULL" : Quoting.escaped(item.toString()));
            });
    return text.toString();
  }

  @Override
  public Object parse(String text) {
    Map<String, String> map = new LinkedHashMap<>();
    Quoting.Reader reader = new Quoting.Reader(text + ",", this);
    while (!text.isEmpty() && reader.more()) {
      String key = reader.part("=");
      if (!reader.take("=>")) {
        throw malformed(text);
      }
      boolean quoted = reader.peek() == '"';
      String value = reader.part(",");
      map.put(key, !quoted && value.equals("NULL") ? null : value);
      reader.expect(',');
      reader.take(' ');
    }
    return Collections.unmodifiableMap(map);
  }

  @Override
  public void json(byte[] bytes, int offset, int length, WireOutput out) {
    write((Map<?, ?>) decode(bytes, offset, length), Notation.JSON, ": ", out);
  }

  @Override
  public void jsonOfText(byte[] utf8, int offset, int length, WireOutput out) {
    write((Map<?, ?>) parse(utf8, offset, length), Notation.JSON, ": ", out);
  }

  @Override
  public void edn(byte[] bytes, int offset, int length, WireOutput out) {
    write((Map<?, ?>) decode(bytes, offset, length), Notation.EDN, " ", out);
  }

  @Override
  public void ednOfText(byte[] utf8, int offset, int length, WireOutput out) {
    write((Map<?, ?>) parse(utf8, offset, length), Notation.EDN, " ", out);
  }

  private static void write(Map<?, ?> map, Notation notation, String behindKey, WireOutput out) {
    out.int1('{');
    String between = "";
    for (Map.Entry<?, ?> entry : map.entrySet()) {
      out.text(between);
      notation.string((String) entry.getKey(), out);
      out.text(behindKey);
      if (entry.getValue() == null) {
        notation.nothing(out);
      } else {
        notation.string((String) entry.getValue(), out);
      }
      between = ", ";
    }
    out.int1('}');
  }
}
