package dev.howdah.pg.types;

import dev.howdah.pg.PgException;
import dev.howdah.pg.wire.WireOutput;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** Cells of every type: the first byte of an input says of which. */
final class Cells {
  private static final TypeRegistry REGISTRY = TypeSamples.registry();
  private static final List<Integer> TYPES = types();
  private static final int SEEDS_OF_A_TYPE = 8;

  private Cells() {}

  private static List<Integer> types() {
    List<Integer> types = new ArrayList<>(TypeSamples.texts().keySet());
    types.add(TypeSamples.RECORD);
    types.sort(null);
    return types;
  }

  static Codec codec(byte[] input) {
    return REGISTRY.codec(TYPES.get((input[0] & 0xff) % TYPES.size()));
  }

  static byte[] cell(byte[] input) {
    return Arrays.copyOfRange(input, 1, input.length);
  }

  /** Some true values of each type, written by a function of codec and text. */
  static List<byte[]> seeds(BiFunction<Codec, String, byte[]> writer) {
    List<byte[]> seeds = new ArrayList<>();
    Map<Integer, List<String>> texts = TypeSamples.texts();
    for (int i = 0; i < TYPES.size(); i++) {
      List<String> values = texts.getOrDefault(TYPES.get(i), List.of());
      for (String text : values.subList(0, Math.min(values.size(), SEEDS_OF_A_TYPE))) {
        WireOutput out = new WireOutput(64);
        out.int1(i);
        out.bytes(writer.apply(REGISTRY.codec(TYPES.get(i)), text));
        seeds.add(out.toByteArray());
      }
    }
    return seeds;
  }

  static byte[] binary(Codec codec, Object value) {
    WireOutput out = new WireOutput(64);
    codec.encode(value, out);
    return out.toByteArray();
  }

  static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  static String written(Consumer<WireOutput> writer) {
    WireOutput out = new WireOutput(64);
    writer.accept(out);
    return new String(out.toByteArray(), StandardCharsets.UTF_8);
  }

  /** What is returned, or null where the answer is an error that a user can be shown. */
  static <T> T orNull(Supplier<T> work) {
    try {
      return work.get();
    } catch (PgException e) {
      return null;
    }
  }

  /** Fails where two values differ; arrays of bytes are compared by what is in them. */
  static void same(Object expected, Object actual, Codec codec, byte[] cell) {
    if (!Objects.deepEquals(plain(expected), plain(actual))) {
      throw new AssertionError(
          codec + " of " + Arrays.toString(cell) + ": " + expected + " is not " + actual);
    }
  }

  private static Object plain(Object value) {
    if (value instanceof byte[] bytes) {
      return "bytes " + Arrays.toString(bytes);
    }
    return value;
  }
}
