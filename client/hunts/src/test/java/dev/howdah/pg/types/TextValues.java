package dev.howdah.pg.types;

import java.util.List;

/**
 * Cells in the text format. Each is read in every way or refused, within memory; what was read is
 * written in the binary format, whose text is read as the same value.
 */
public final class TextValues {
  private TextValues() {}

  /** True values. */
  public static List<byte[]> seeds() {
    return Cells.seeds((codec, text) -> Cells.utf8(text));
  }

  /** Reads one cell. */
  public static void attack(byte[] input) {
    if (input.length == 0) {
      return;
    }
    Codec codec = Cells.codec(input);
    Codec asText = TypeRegistry.asText(codec);
    byte[] cell = Cells.cell(input);
    CellReading.of(asText, cell);
    Object value = Cells.orNull(() -> asText.decode(cell, 0, cell.length));
    byte[] binary = value == null ? null : Cells.orNull(() -> Cells.binary(codec, value));
    if (binary != null) {
      Cells.same(value, codec.decode(binary, 0, binary.length), codec, cell);
      byte[] text = Cells.utf8(codec.string(binary, 0, binary.length));
      Cells.same(value, asText.decode(text, 0, text.length), codec, cell);
    }
  }
}
