package dev.howdah.pg;

import dev.howdah.pg.types.Codec;
import dev.howdah.pg.types.TypeRegistry;
import dev.howdah.pg.wire.WireOutput;

/** The formats of COPY's data. */
public enum CopyFormat {
  /**
   * The fastest; some types, such as money, have no binary form that says everything, and are
   * refused.
   */
  BINARY,
  /** The server's own text, with tabs between the columns. */
  TEXT,
  /** Text with commas; an empty text is quoted, and null is not. */
  CSV;

  /** The name in COPY's options. */
  String option() {
    return name().toLowerCase(java.util.Locale.ROOT);
  }

  /** How a value of a column travels in this format. */
  Codec codec(Codec codec, String column) {
    if (this != BINARY) {
      return codec.binary() ? TypeRegistry.asText(codec) : codec;
    }
    if (!codec.binary()) {
      throw new PgException(
          "0A000",
          "column "
              + column
              + " is of a type, "
              + codec.name()
              + ", that has no binary format here; copy it as text or CSV");
    }
    return codec;
  }

  /** Writes what a text is in COPY's text format. */
  static void escape(String value, WireOutput out) {
    int start = out.size();
    out.text(value);
    byte[] plain = java.util.Arrays.copyOfRange(out.array(), start, out.size());
    out.truncate(start);
    for (byte b : plain) {
      int escape = "\b\f\n\r\t\u000b\\".indexOf(b);
      if (escape >= 0) {
        out.int1('\\');
        out.int1("bfnrtv\\".charAt(escape));
      } else {
        out.int1(b);
      }
    }
  }

  /**
   * Writes what a text is in CSV; always in quotes, so that it is never taken for null or for the
   * end.
   */
  static void quote(String value, WireOutput out) {
    out.int1('"');
    out.text(value.replace("\"", "\"\""));
    out.int1('"');
  }
}
