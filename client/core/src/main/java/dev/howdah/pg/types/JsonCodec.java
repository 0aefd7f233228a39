package dev.howdah.pg.types;

import dev.howdah.pg.PgException;
import dev.howdah.pg.edn.JsonAsEdn;
import dev.howdah.pg.wire.WireOutput;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.function.Function;

/** json and jsonb: as String, or as what the user's parser makes of the UTF-8 bytes. */
final class JsonCodec extends Codec {
  private static final int VERSION = 1;

  private final boolean versioned;
  private final Function<byte[], Object> parser;
  private final Function<Object, byte[]> writer;

  /** A codec for json, or for jsonb, whose binary form is a version byte and the text. */
  JsonCodec(boolean versioned, Function<byte[], Object> parser, Function<Object, byte[]> writer) {
    super(versioned ? "jsonb" : "json");
    this.versioned = versioned;
    this.parser = parser;
    this.writer = writer;
  }

  private int skip(byte[] bytes, int offset, int length) {
    if (!versioned) {
      return 0;
    }
    if (length < 1 || bytes[offset] != VERSION) {
      throw new PgException("22P03", "the server sent jsonb of an unknown version");
    }
    return 1;
  }

  @Override
  public boolean sameInText() {
    return !versioned;
  }

  /**
   * What a parser makes may be open to change; a parser that is named promises that it is shared
   * safely.
   */
  @Override
  public Object decode(byte[] bytes, int offset, int length) {
    int skip = skip(bytes, offset, length);
    return parse(bytes, offset + skip, length - skip);
  }

  @Override
  public Object parse(byte[] utf8, int offset, int length) {
    return parser == null
        ? new String(utf8, offset, length, StandardCharsets.UTF_8)
        : parser.apply(Arrays.copyOfRange(utf8, offset, offset + length));
  }

  @Override
  public Object parse(String text) {
    return parser == null ? text : parser.apply(text.getBytes(StandardCharsets.UTF_8));
  }

  @Override
  public void encode(Object value, WireOutput out) {
    if (versioned) {
      out.int1(VERSION);
    }
    if (value instanceof CharSequence text) {
      out.text(text.toString());
    } else if (writer != null) {
      out.bytes(writer.apply(value));
    } else if (value instanceof byte[] utf8) {
      out.bytes(utf8);
    } else {
      throw refuse(value);
    }
  }

  @Override
  public void text(byte[] bytes, int offset, int length, WireOutput out) {
    int skip = skip(bytes, offset, length);
    out.bytes(bytes, offset + skip, length - skip);
  }

  @Override
  public void json(byte[] bytes, int offset, int length, WireOutput out) {
    text(bytes, offset, length, out);
  }

  @Override
  public void jsonOfText(byte[] utf8, int offset, int length, WireOutput out) {
    out.bytes(utf8, offset, length);
  }

  @Override
  public void edn(byte[] bytes, int offset, int length, WireOutput out) {
    int skip = skip(bytes, offset, length);
    JsonAsEdn.write(bytes, offset + skip, length - skip, out);
  }

  @Override
  public void ednOfText(byte[] utf8, int offset, int length, WireOutput out) {
    JsonAsEdn.write(utf8, offset, length, out);
  }
}
