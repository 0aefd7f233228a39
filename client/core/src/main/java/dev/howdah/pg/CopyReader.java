package dev.howdah.pg;

import dev.howdah.pg.wire.BigEndian;
import dev.howdah.pg.wire.Wire;
import dev.howdah.pg.wire.WireOutput;
import java.util.Arrays;
import java.util.function.Consumer;

/**
 * Makes rows of what COPY TO STDOUT sends. Its messages may end anywhere, so bytes are kept until a row is
 * whole. The bytes of a row of the binary format are those of a message with a row; the text formats are
 * brought into that form, their values as text.
 */
abstract class CopyReader implements RowSink {
  private final Shape shape;
  private final RowMaker maker;
  private final Consumer<Row> target;
  private final WireOutput pending = new WireOutput(1 << 12);
  private final WireOutput row = new WireOutput(256);

  private CopyReader(Shape shape, Options options, Consumer<Row> target) {
    this.shape = shape;
    this.maker = shape.maker(options.rows());
    this.target = target;
  }

  /** A reader for a format; the shape has the columns' names and the codecs of the format. */
  static CopyReader of(CopyFormat format, Shape shape, Options options, Consumer<Row> target) {
    return switch (format) {
      case BINARY -> new Binary(shape, options, target);
      case TEXT -> new Text(shape, options, target);
      case CSV -> new Csv(shape, options, target);
    };
  }

  @Override
  public void row(Wire wire) {
    pending.bytes(wire.body(), wire.offset(), wire.length());
    int start = 0;
    while (true) {
      int length = whole(pending.array(), start, pending.size());
      if (length == 0) {
        break;
      }
      read(pending.array(), start, length);
      start += length;
    }
    byte[] rest = Arrays.copyOfRange(pending.array(), start, pending.size());
    pending.clear();
    pending.bytes(rest);
  }

  /** How many bytes make a whole row, or another whole part, from a position on; 0 if it is not there yet. */
  abstract int whole(byte[] bytes, int start, int end);

  /** Reads such a part. */
  abstract void read(byte[] bytes, int start, int length);

  /** Hands on a row, given as the body of a message with a row. */
  final void deliver(byte[] bytes, int start, int length) {
    if (!Row.wellFormed(bytes, start, length, shape.size())) {
      throw malformed();
    }
    byte[] own = Arrays.copyOfRange(bytes, start, start + length);
    target.accept(maker.row(new Segment(own, new char[1], shape, maker), 0));
  }

  static PgException malformed() {
    return new PgException("22P04", "the server sent data of COPY that are not rows of the columns it described");
  }

  final WireOutput beginRow() {
    row.clear();
    row.int2(shape.size());
    return row;
  }

  final void endRow() {
    deliver(row.array(), 0, row.size());
  }

  private static final class Binary extends CopyReader {
    /** Signature, flags, and the length of an extension. */
    private static final int HEADER = 19;
    private boolean begun;

    private Binary(Shape shape, Options options, Consumer<Row> target) {
      super(shape, options, target);
    }

    @Override
    int whole(byte[] bytes, int start, int end) {
      int available = end - start;
      if (!begun) {
        int extension = available < HEADER ? 0 : BigEndian.int4(bytes, start + HEADER - 4);
        if (extension < 0) {
          throw malformed();
        }
        return available - HEADER < extension ? 0 : HEADER + extension;
      }
      if (available < 2) {
        return 0;
      }
      int at = start + 2;
      for (int columns = BigEndian.int2(bytes, start); columns > 0; columns--) {
        if (end - at < 4) {
          return 0;
        }
        int length = Math.max(0, BigEndian.int4(bytes, at));
        at += 4;
        if (end - at < length) {
          return 0;
        }
        at += length;
      }
      return at - start;
    }

    @Override
    void read(byte[] bytes, int start, int length) {
      if (!begun) {
        begun = true;
      } else if (BigEndian.int2(bytes, start) >= 0) {
        deliver(bytes, start, length);
      }
    }
  }

  private static final class Text extends CopyReader {
    private Text(Shape shape, Options options, Consumer<Row> target) {
      super(shape, options, target);
    }

    @Override
    int whole(byte[] bytes, int start, int end) {
      for (int i = start; i < end; i++) {
        if (bytes[i] == '\n') {
          return i + 1 - start;
        }
      }
      return 0;
    }

    @Override
    void read(byte[] bytes, int start, int length) {
      WireOutput row = beginRow();
      int end = start + length - 1;
      int at = start;
      while (at <= end) {
        int tab = at;
        while (tab < end && bytes[tab] != '\t') {
          tab++;
        }
        field(bytes, at, tab, row);
        at = tab + 1;
      }
      endRow();
    }

    private static void field(byte[] bytes, int start, int end, WireOutput row) {
      if (end - start == 2 && bytes[start] == '\\' && bytes[start + 1] == 'N') {
        row.int4(-1);
        return;
      }
      int length = row.reserveInt4();
      for (int i = start; i < end; i++) {
        row.int1(bytes[i] == '\\' && i + 1 < end ? unescaped(bytes[++i]) : bytes[i]);
      }
      row.storeLength(length);
    }

    private static byte unescaped(byte letter) {
      return switch (letter) {
        case 'b' -> '\b';
        case 'f' -> '\f';
        case 'n' -> '\n';
        case 'r' -> '\r';
        case 't' -> '\t';
        case 'v' -> 11;
        default -> letter;
      };
    }
  }

  private static final class Csv extends CopyReader {
    private Csv(Shape shape, Options options, Consumer<Row> target) {
      super(shape, options, target);
    }

    @Override
    int whole(byte[] bytes, int start, int end) {
      boolean quoted = false;
      for (int i = start; i < end; i++) {
        if (bytes[i] == '"') {
          // Two quotes that stand for one turn it off and on again.
          quoted = !quoted;
        } else if (bytes[i] == '\n' && !quoted) {
          return i + 1 - start;
        }
      }
      return 0;
    }

    @Override
    void read(byte[] bytes, int start, int length) {
      WireOutput row = beginRow();
      int end = start + length - 1;
      int at = start;
      while (at <= end) {
        at = field(bytes, at, end, row) + 1;
      }
      endRow();
    }

    /** Reads a field; returns where it ends. */
    private static int field(byte[] bytes, int start, int end, WireOutput row) {
      int size = row.reserveInt4();
      boolean quoted = false;
      boolean everQuoted = false;
      int at = start;
      for (; at < end && (quoted || bytes[at] != ','); at++) {
        if (bytes[at] != '"') {
          row.int1(bytes[at]);
        } else if (quoted && at + 1 < end && bytes[at + 1] == '"') {
          row.int1(bytes[at++]);
        } else {
          quoted = !quoted;
          everQuoted = true;
        }
      }
      if (at == start && !everQuoted) {
        row.truncate(size);
        row.int4(-1);
      } else {
        row.storeLength(size);
      }
      return at;
    }
  }
}
