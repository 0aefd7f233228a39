package dev.howdah.pg;

import static dev.howdah.pg.ServerPlay.complete;
import static dev.howdah.pg.ServerPlay.described;
import static dev.howdah.pg.ServerPlay.message;
import static dev.howdah.pg.ServerPlay.ready;

import dev.howdah.pg.wire.WireOutput;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Rows of text that a server copies out, in every format and cut anywhere, arrive as they were. */
public final class CopyData {
  private static final int TEXT = 25;
  private static final int MOST_COLUMNS = 4;

  /** What stands in an input between two values. */
  private static final String NEXT = "\1";

  private static final String NULL = "\2";

  private CopyData() {}

  /** Values that each format has to escape. */
  public static List<byte[]> seeds() {
    return List.of(
            "\0\1a\1b\1c",
            "\1\3a\tb\1\2\1\1c\\d\n\1\"q\"\"\1,\r\n",
            "\2\2\\.\1\\N\1NULL\1ä😀",
            "\3\7\b\f\u000b\1\\\\\\\1\"\1\n",
            "\3\1")
        .stream()
        .map(text -> text.getBytes(StandardCharsets.UTF_8))
        .toList();
  }

  /** Copies one table. */
  public static void attack(byte[] input) {
    if (input.length < 2) {
      return;
    }
    int columns = 1 + (input[0] & 0xff) % MOST_COLUMNS;
    int piece = 1 + (input[1] & 0xff) % 16;
    List<List<String>> rows =
        rows(
            new String(input, 2, input.length - 2, StandardCharsets.UTF_8).replace("\0", ""),
            columns);
    for (CopyFormat format : CopyFormat.values()) {
      WireOutput data = new WireOutput(256);
      write(format, rows, columns, data);
      List<List<String>> read =
          ServerPlay.against(
              said(data.toByteArray(), columns, piece),
              piece,
              connection -> read(connection, format));
      if (!rows.equals(read)) {
        throw new AssertionError(format + ": " + rows + " is read as " + read);
      }
    }
  }

  private static List<List<String>> rows(String text, int columns) {
    List<List<String>> rows = new ArrayList<>();
    String[] values = text.split(NEXT, -1);
    for (int i = 0; i + columns <= values.length; i += columns) {
      rows.add(
          Arrays.stream(values, i, i + columns)
              .map(value -> value.equals(NULL) ? null : value)
              .toList());
    }
    return rows;
  }

  private static List<List<String>> read(Connection connection, CopyFormat format) {
    List<List<String>> rows = new ArrayList<>();
    connection.copyOut(
        format,
        "table t",
        row -> {
          List<String> values = new ArrayList<>();
          for (int i = 0; i < row.width(); i++) {
            values.add(row.getString(i));
          }
          rows.add(values);
        });
    return rows;
  }

  private static byte[] said(byte[] data, int columns, int piece) {
    WireOutput out = new WireOutput(data.length * 2);
    int[] types = new int[columns];
    Arrays.fill(types, TEXT);
    described(out, types);
    ready(out);
    message(out, 'H', body -> body.text("\0\0\0"));
    for (int at = 0; at < data.length; at += piece) {
      int from = at;
      message(out, 'd', body -> body.bytes(data, from, Math.min(piece, data.length - from)));
    }
    message(out, 'c');
    complete(out, "COPY 1");
    ready(out);
    return out.toByteArray();
  }

  /** As the server writes each format. */
  private static void write(
      CopyFormat format, List<List<String>> rows, int columns, WireOutput out) {
    if (format == CopyFormat.BINARY) {
      out.bytes("PGCOPY\n\377\r\n\0".getBytes(StandardCharsets.ISO_8859_1));
      out.int8(0);
    }
    for (List<String> row : rows) {
      if (format == CopyFormat.BINARY) {
        binary(row, columns, out);
      } else {
        out.text(
            String.join(
                    format == CopyFormat.TEXT ? "\t" : ",",
                    row.stream().map(value -> written(format, value)).toList())
                + "\n");
      }
    }
    if (format == CopyFormat.BINARY) {
      out.int2(-1);
    }
  }

  private static void binary(List<String> row, int columns, WireOutput out) {
    out.int2(columns);
    for (String value : row) {
      byte[] utf8 = value == null ? new byte[0] : value.getBytes(StandardCharsets.UTF_8);
      out.int4(value == null ? -1 : utf8.length);
      out.bytes(utf8);
    }
  }

  private static String written(CopyFormat format, String value) {
    if (format == CopyFormat.TEXT) {
      return value == null
          ? "\\N"
          : value
              .replace("\\", "\\\\")
              .replace("\b", "\\b")
              .replace("\f", "\\f")
              .replace("\n", "\\n")
              .replace("\r", "\\r")
              .replace("\t", "\\t")
              .replace("\u000b", "\\v");
    }
    if (value == null) {
      return "";
    }
    boolean plain =
        !value.isEmpty()
            && !value.equals("\\.")
            && value.chars().noneMatch(c -> ",\"\r\n".indexOf(c) >= 0);
    return plain ? value : '"' + value.replace("\"", "\"\"") + '"';
  }
}
