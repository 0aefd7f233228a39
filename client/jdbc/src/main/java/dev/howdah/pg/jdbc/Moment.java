package dev.howdah.pg.jdbc;

import dev.howdah.pg.ByType;
import dev.howdah.pg.types.Codec;

/**
 * The text of a timestamp before the Gregorian calendar, or of an array with such. The fields that
 * java.sql has for it are Julian, and the server takes all fields for Gregorian: where it expects a
 * moment it gets that of the instant.
 *
 * @param fields for date and timestamp, which are read into the same fields again
 * @param instant for timestamptz
 */
record Moment(String fields, String instant) implements ByType {
  @Override
  public Object forType(Codec codec) {
    Codec single = codec.element() == null ? codec : codec.element();
    return single.name().equals("timestamptz") ? instant : fields;
  }

  @Override
  public String toString() {
    return fields;
  }
}
