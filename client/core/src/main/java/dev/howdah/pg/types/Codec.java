package dev.howdah.pg.types;

import dev.howdah.pg.PgException;
import dev.howdah.pg.edn.Edn;
import dev.howdah.pg.json.Json;
import dev.howdah.pg.wire.WireOutput;
import java.nio.charset.StandardCharsets;

/**
 * How the values of one PostgreSQL type are read and written. Codecs are immutable and safe between
 * threads.
 *
 * <p>The four basic operations are {@link #decode} and {@link #encode} for the binary format, and
 * {@link #parse} and {@link #text} for the text format. The rest has defaults built on them, which
 * a type overrides where it can answer without making an object.
 *
 * <p>A decoded value must be immutable, because a row keeps it and hands it to any thread. Where it
 * cannot be, {@link #cacheable} is false and the value is made anew each time.
 */
public abstract class Codec {
  private final String name;

  /** A codec for the type of that name. */
  protected Codec(String name) {
    this.name = name;
  }

  /** The type's name. */
  public final String name() {
    return name;
  }

  /** Reads a value from the binary format. */
  public abstract Object decode(byte[] bytes, int offset, int length);

  /** Reads a value from the text format. */
  public abstract Object parse(String text);

  /**
   * Writes a value in the binary format. A value of a wrong kind is refused with {@link #refuse}.
   */
  public abstract void encode(Object value, WireOutput out);

  /** Writes, as the server's own text, a value that came in the binary format. */
  public abstract void text(byte[] bytes, int offset, int length, WireOutput out);

  /** The codec of the elements, if the type is an array; else null. */
  public Codec element() {
    return null;
  }

  /** Whether the binary format is understood; otherwise the server is asked for text. */
  public boolean binary() {
    return true;
  }

  /**
   * Whether a value's bytes are the same in the text format; the server is asked for that, as it
   * writes it with less work.
   */
  public boolean sameInText() {
    return false;
  }

  /** Whether a decoded value may be kept and shared. */
  public boolean cacheable() {
    return true;
  }

  /** Reads a value that came in the text format; a type overrides it to answer without a String. */
  public Object parse(byte[] utf8, int offset, int length) {
    return parse(new String(utf8, offset, length, StandardCharsets.UTF_8));
  }

  /** A value as the server would write it, to be sent as text. */
  public String format(Object value) {
    if (value instanceof String text) {
      return text;
    }
    WireOutput binary = new WireOutput(32);
    encode(value, binary);
    return string(binary.array(), 0, binary.size());
  }

  /** A binary value as a string: the server's own text. */
  public String string(byte[] bytes, int offset, int length) {
    WireOutput out = new WireOutput(Math.max(16, length * 2));
    text(bytes, offset, length, out);
    return new String(out.array(), 0, out.size(), StandardCharsets.UTF_8);
  }

  /** A binary value as a long; only for types whose values are numbers or times. */
  public long int8(byte[] bytes, int offset, int length) {
    if (decode(bytes, offset, length) instanceof Number number) {
      return exact(number);
    }
    throw cannot("a long");
  }

  /** A binary value as a double. */
  public double float8(byte[] bytes, int offset, int length) {
    if (decode(bytes, offset, length) instanceof Number number) {
      return number.doubleValue();
    }
    throw cannot("a double");
  }

  /** A binary value as a boolean. */
  public boolean bool(byte[] bytes, int offset, int length) {
    throw cannot("a boolean");
  }

  /** Microseconds since 1970-01-01 00:00:00 UTC, or since midnight for a time of day. */
  public long micros(byte[] bytes, int offset, int length) {
    throw cannot("microseconds");
  }

  /** Writes a binary value as JSON, as the server's to_json does. */
  public void json(byte[] bytes, int offset, int length, WireOutput out) {
    out.int1('"');
    int start = out.size();
    text(bytes, offset, length, out);
    Json.escapeFrom(start, out);
    out.int1('"');
  }

  /** Writes, as JSON, a value that came in the text format. */
  public void jsonOfText(byte[] utf8, int offset, int length, WireOutput out) {
    Json.string(utf8, offset, length, out);
  }

  /**
   * Writes a binary value as EDN: a string of the server's text, where the type has nothing better.
   */
  public void edn(byte[] bytes, int offset, int length, WireOutput out) {
    Edn.string(string(bytes, offset, length), out);
  }

  /** Writes, as EDN, a value that came in the text format. */
  public void ednOfText(byte[] utf8, int offset, int length, WireOutput out) {
    Edn.string(utf8, offset, length, out);
  }

  /** The error for a value that this type cannot take. */
  protected final PgException refuse(Object value) {
    return new PgException(
        "22000",
        "a value of type "
            + name
            + " cannot be made from "
            + shown(value)
            + " of "
            + value.getClass().getName());
  }

  /** The error for text that is not of this type's form. */
  protected final PgException malformed(String text) {
    return new PgException("22P02", "not a value of type " + name + ": " + shown(text));
  }

  /** The error for a value outside the type's range. */
  protected final PgException outOfRange(Object value) {
    return new PgException("22003", shown(value) + " is out of the range of type " + name);
  }

  /** The error for bytes that are not of this type's form. */
  protected final PgException broken(int length) {
    return new PgException(
        "22P03",
        "the server sent a value of type "
            + name
            + " of "
            + length
            + " bytes, which no such value has");
  }

  private PgException cannot(String what) {
    return new PgException("22005", "a value of type " + name + " cannot be read as " + what);
  }

  private static String shown(Object value) {
    String text = String.valueOf(value);
    return text.length() <= 80 ? text : text.substring(0, 80) + "…";
  }

  /** A number as a long, refused if that would lose anything. */
  protected final long exact(Number number) {
    try {
      if (number instanceof Long
          || number instanceof Integer
          || number instanceof Short
          || number instanceof Byte) {
        return number.longValue();
      }
      if (number instanceof java.math.BigInteger integer) {
        return integer.longValueExact();
      }
      if (number instanceof Double || number instanceof Float) {
        return new java.math.BigDecimal(number.doubleValue()).longValueExact();
      }
      return new java.math.BigDecimal(number.toString()).longValueExact();
    } catch (ArithmeticException | NumberFormatException e) {
      throw outOfRange(number);
    }
  }

  @Override
  public String toString() {
    return "codec of " + name;
  }
}
