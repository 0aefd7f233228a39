package dev.howdah.pg.types;

import dev.howdah.pg.edn.Edn;
import dev.howdah.pg.json.Json;
import dev.howdah.pg.wire.WireOutput;
import java.nio.charset.StandardCharsets;

/**
 * Types that travel as text: those nobody registered a codec for, and those whose binary form says
 * less than their text. money's does not say how many of its digits are decimals; regclass's is a
 * bare number.
 */
final class TextOnlyCodec extends Codec {
  TextOnlyCodec(String name) {
    super(name);
  }

  @Override
  public boolean binary() {
    return false;
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
    out.text(value.toString());
  }

  @Override
  public String format(Object value) {
    return value.toString();
  }

  @Override
  public void text(byte[] bytes, int offset, int length, WireOutput out) {
    out.bytes(bytes, offset, length);
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
