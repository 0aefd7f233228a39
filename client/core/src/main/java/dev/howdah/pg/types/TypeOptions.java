package dev.howdah.pg.types;

import java.util.Map;
import java.util.function.Function;

/**
 * What a user says about how types are presented.
 *
 * @param codecs codecs by type name that replace or add to the built-in ones
 * @param jsonParser makes a value of the UTF-8 bytes of json and jsonb; null leaves them a String.
 *     What it makes is kept by rows and handed to any thread, so it must not change
 * @param jsonWriter makes UTF-8 JSON of a parameter that is not text; null refuses such parameters
 * @param arrays makes a value of an array; null leaves it a {@link PgArray}
 */
public record TypeOptions(
    Map<String, Codec> codecs,
    Function<byte[], Object> jsonParser,
    Function<Object, byte[]> jsonWriter,
    Function<PgArray, Object> arrays) {
  /** Nothing special. */
  public static final TypeOptions NONE = new TypeOptions(Map.of(), null, null, null);
}
