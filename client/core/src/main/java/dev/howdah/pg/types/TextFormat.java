package dev.howdah.pg.types;

import dev.howdah.pg.wire.WireOutput;
import java.nio.charset.StandardCharsets;

/** Reads a column that the server sends in the text format, by the codec of its type. */
final class TextFormat extends Codec {
  private final Codec codec;

  TextFormat(Codec codec) {
    super(codec.name());
    this.codec = codec;
  }

  @Override
  public Codec element() {
    return codec.element();
  }

  @Override
  public boolean binary() {
    return false;
  }

  @Override
  public boolean cacheable() {
    return codec.cacheable();
  }

  @Override
  public Object decode(byte[] bytes, int offset, int length) {
    return codec.parse(bytes, offset, length);
  }

  @Override
  public Object parse(String text) {
    return codec.parse(text);
  }

  @Override
  public void encode(Object value, WireOutput out) {
    out.text(codec.format(value));
  }

  @Override
  public void text(byte[] bytes, int offset, int length, WireOutput out) {
    out.bytes(bytes, offset, length);
  }

  @Override
  public String string(byte[] bytes, int offset, int length) {
    return new String(bytes, offset, length, StandardCharsets.UTF_8);
  }

  /** The value in the binary format, for what a codec answers from there alone. */
  private WireOutput toBinary(byte[] bytes, int offset, int length) {
    WireOutput out = new WireOutput(32);
    codec.encode(codec.parse(bytes, offset, length), out);
    return out;
  }

  @Override
  public boolean bool(byte[] bytes, int offset, int length) {
    WireOutput out = toBinary(bytes, offset, length);
    return codec.bool(out.array(), 0, out.size());
  }

  @Override
  public long micros(byte[] bytes, int offset, int length) {
    WireOutput out = toBinary(bytes, offset, length);
    return codec.micros(out.array(), 0, out.size());
  }

  @Override
  public void json(byte[] bytes, int offset, int length, WireOutput out) {
    codec.jsonOfText(bytes, offset, length, out);
  }

  @Override
  public void edn(byte[] bytes, int offset, int length, WireOutput out) {
    codec.ednOfText(bytes, offset, length, out);
  }
}
