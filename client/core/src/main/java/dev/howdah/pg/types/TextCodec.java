package dev.howdah.pg.types;

import dev.howdah.pg.edn.Edn;
import dev.howdah.pg.json.Json;
import dev.howdah.pg.wire.WireOutput;
import java.nio.charset.StandardCharsets;
import java.util.UUID;

/** text, varchar, bpchar, name, citext, xml and enums: UTF-8 in both formats, as String. */
final class TextCodec extends Codec {
  TextCodec(String name) {
    super(name);
  }

  @Override
  public boolean sameInText() {
    return true;
  }

  @Override
  public Object decode(byte[] bytes, int offset, int length) {
    return new String(bytes, offset, length, StandardCharsets.UTF_8);
  }

  @Override
  public Object parse(String text) {
    return text;
  }

  @Override
  public void encode(Object value, WireOutput out) {
    out.text(format(value));
  }

  @Override
  public String format(Object value) {
    if (value instanceof CharSequence
        || value instanceof Character
        || value instanceof Number
        || value instanceof Enum<?>
        || value instanceof UUID) {
      return value.toString();
    }
    throw refuse(value);
  }

  @Override
  public void text(byte[] bytes, int offset, int length, WireOutput out) {
    out.bytes(bytes, offset, length);
  }

  @Override
  public String string(byte[] bytes, int offset, int length) {
    return new String(bytes, offset, length, StandardCharsets.UTF_8);
  }

  @Override
  public void json(byte[] bytes, int offset, int length, WireOutput out) {
    Json.string(bytes, offset, length, out);
  }

  @Override
  public void edn(byte[] bytes, int offset, int length, WireOutput out) {
    Edn.string(bytes, offset, length, out);
  }
}
