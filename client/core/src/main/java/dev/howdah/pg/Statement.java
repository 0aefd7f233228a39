package dev.howdah.pg;

import dev.howdah.pg.types.Codec;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.regex.Pattern;

/** A statement that the server has prepared. */
final class Statement {
  private static final Pattern OUTSIDE_TRANSACTIONS =
      Pattern.compile("set_config|_advisory_|dblink|lo_export", Pattern.CASE_INSENSITIVE);

  final String sql;
  final String name;
  final int[] parameterTypes;
  final Codec[] parameters;
  final Shape shape;

  /**
   * Whether it may be on its way beside others of other threads. It may then be run twice, after a
   * cancel that was meant for another, so what leaves an effect behind when it is rolled back is
   * not shared.
   */
  final boolean shareable;

  /** The names of the {@link Witness witnesses} of the composite types in it. */
  final String[] witnesses;

  /** The format codes of a Bind message, with their count in front. */
  final short[] resultFormats;

  /** How many bytes its SQL has. */
  final int textBytes;

  Statement(
      String sql,
      String name,
      int[] parameterTypes,
      Codec[] parameters,
      Shape shape,
      List<String> witnesses) {
    this.sql = sql;
    this.name = name;
    this.parameterTypes = parameterTypes;
    this.parameters = parameters;
    this.shape = shape;
    this.witnesses = witnesses.toArray(String[]::new);
    this.shareable = LeadingKeyword.isOfRows(sql) && !OUTSIDE_TRANSACTIONS.matcher(sql).find();
    this.resultFormats = formats(shape);
    this.textBytes = textBytes(sql);
  }

  static int textBytes(String sql) {
    return sql.getBytes(StandardCharsets.UTF_8).length;
  }

  /**
   * Whether it is the unnamed one, which is gone with the next, and behind a pooler with the end of
   * the transaction.
   */
  boolean isUnnamed() {
    return name.isEmpty();
  }

  /** One code speaks for all columns where they agree. */
  private static short[] formats(Shape shape) {
    int binary = 0;
    for (Codec codec : shape.codecs) {
      binary += format(codec);
    }
    if (binary == 0 || binary == shape.size()) {
      return new short[] {(short) (binary == 0 ? 0 : 1)};
    }
    short[] formats = new short[shape.size()];
    for (int i = 0; i < formats.length; i++) {
      formats[i] = format(shape.codecs[i]);
    }
    return formats;
  }

  /** The protocol's code of the format in which the server is asked for values. */
  private static short format(Codec codec) {
    return (short) (codec.binary() && !codec.sameInText() ? 1 : 0);
  }
}
