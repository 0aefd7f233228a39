package dev.howdah.pg.types;

import java.util.List;

/**
 * Cells in the binary format. Each is read in every way or refused, within its bytes and within
 * memory. What was read is written and read again as the same value, and the server's text of it
 * says the same.
 */
public final class BinaryValues {
  private BinaryValues() {}

  /** True values. */
  public static List<byte[]> seeds() {
    return Cells.seeds((codec, text) -> Cells.binary(codec, codec.parse(text)));
  }

  /** Reads one cell. */
  public static void attack(byte[] input) {
    if (input.length == 0) {
      return;
    }
    Codec codec = Cells.codec(input);
    byte[] cell = Cells.cell(input);
    CellReading.of(codec, cell);
    Object value = Cells.orNull(() -> codec.decode(cell, 0, cell.length));
    byte[] again = value == null ? null : Cells.orNull(() -> Cells.binary(codec, value));
    if (again == null) {
      return;
    }
    Cells.same(value, codec.decode(again, 0, again.length), codec, cell);
    agrees(codec, value, again);
  }

  /** A value says the same whether it comes as binary or as text. */
  private static void agrees(Codec codec, Object value, byte[] binary) {
    byte[] text = Cells.utf8(codec.string(binary, 0, binary.length));
    Codec asText = TypeRegistry.asText(codec);
    Cells.same(value, asText.decode(text, 0, text.length), codec, binary);
    Cells.same(
        Cells.written(out -> codec.json(binary, 0, binary.length, out)),
        Cells.written(out -> asText.json(text, 0, text.length, out)),
        codec,
        binary);
    Cells.same(
        Cells.orNull(() -> Cells.written(out -> codec.edn(binary, 0, binary.length, out))),
        Cells.orNull(() -> Cells.written(out -> asText.edn(text, 0, text.length, out))),
        codec,
        binary);
  }
}
