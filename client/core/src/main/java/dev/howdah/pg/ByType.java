package dev.howdah.pg;

import dev.howdah.pg.types.Codec;

/**
 * A parameter that is another value for another type. It is asked when it is sent, since only then
 * is it known which type the server expects.
 */
public interface ByType {
  /**
   * The value for a type: one that the codec takes, or a String, which the server parses.
   *
   * @param codec the codec of the type that the server expects; a domain has that of its base type
   */
  Object forType(Codec codec);
}
