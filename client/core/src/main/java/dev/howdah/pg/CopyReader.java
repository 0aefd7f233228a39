package dev.howdah.pg;

import dev.howdah.pg.wire.BigEndian;
import dev.howdah.pg.wire.Wire;
import dev.howdah.pg.wire.WireOutput;
import java.util.Arrays;
import java.util.function.Consumer;

/**
 * Makes rows of what COPY TO STDOUT sends. Its messages may end anywhere, so bytes are kept until a
 * row is whole. The bytes of a row of the binary format are those of a message with a row; the text
 * formats are brought into that form, their values as text.
 */
abstract class CopyReader implements RowSink {
  private final Shape shape;
  private final RowMaker maker;
  private final Consumer<Row> target;
  private final WireOutput pending = new WireOutput(1 << 12);
  private final WireOutput row = new WireOutput(256);
  private final Session session;

  private CopyReader(Session session, Shape shape, Options options, Consumer<Row> target) {
    this.session = session;
    this.shape = shape;
    this.maker = shape.maker(options.rows());
    this.target = target;
  }

  /** A reader for a format; the shape has the columns' names and the codecs of the format. */
  static CopyReader of(
      CopyFormat format, Session session, Shape shape, Options options, Consumer<Row> target) {
    return switch (format) {
      case BINARY -> new Binary(session, shape, options, target);
      case TEXT -> new Text(session, shape, options, target);
      case CSV -> new Csv(session, shape, options, target);
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
    checkLength(rest.length);
  }

  /** Refuses a row, or another part, that is longer than any message may be. */
  final void checkLength(long length) {
    int limit = session.config.maxMessageBytes();
    if (length > limit) {
      throw refuse(
          "54000", "the server sent a row of COPY of more than max_message_bytes, " + limit);
    }
  }

  /**
   * How many bytes make a whole row, or another whole part, from a position on; 0 if it is not
   * there yet.
   */
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

  final int width() {
    return shape.size();
  }

  final PgException malformed() {
    return refuse(
        "22P04", "the server sent data of COPY that are not rows of the columns it described");
  }

  /**
   * Closes the session: a server that sends such data may not end COPY either when it is asked to.
   */
  private PgException refuse(String sqlState, String message) {
    session.close();
    return new PgException(sqlState, message + "; the connection is closed");
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

    /** What stands in place of a number of columns behind the last row. */
    private static final int TRAILER = -1;

    private boolean begun;

    private Binary(Session session, Shape shape, Options options, Consumer<Row> target) {
      super(session, shape, options, target);
    }

    @Override
    int whole(byte[] bytes, int start, int end) {
      return begun ? row(bytes, start, end) : header(bytes, start, end - start);
    }

    private int header(byte[] bytes, int start, int available) {
      if (available < HEADER) {
        return 0;
      }
      int extension = BigEndian.int4(bytes, start + HEADER - 4);
      if (extension < 0) {
        throw malformed();
      }
      checkLength((long) HEADER + extension);
      return available - HEADER < extension ? 0 : HEADER + extension;
    }

    /** What cannot become a row is refused before the rest of it is waited for. */
    private int row(byte[] bytes, int start, int end) {
      if (end - start < 2) {
        return 0;
      }
      int columns = BigEndian.int2(bytes, start);
      if (columns != TRAILER && columns != width()) {
        throw malformed();
      }
      int at = start + 2;
      for (; columns > 0; columns--) {
        if (end - at < 4) {
          return 0;
        }
        int length = BigEndian.int4(bytes, at);
        if (length < -1) {
          throw malformed();
        }
        at += 4;
        checkLength((long) at - start + length);
        if (end - at < length) {
          return 0;
        }
        at += Math.max(0, length);
      }
      return at - start;
    }

    @Override
    void read(byte[] bytes, int start, int length) {
      if (!begun) {
        begun = true;
      } else if (BigEndian.int2(bytes, start) != TRAILER) {
        deliver(bytes, start, length);
      }
    }
  }

  private static final class Text extends CopyReader {
    private Text(Session session, Shape shape, Options options, Consumer<Row> target) {
      super(session, shape, options, target);
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
    private Csv(Session session, Shape shape, Options options, Consumer<Row> target) {
      super(session, shape, options, target);
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
