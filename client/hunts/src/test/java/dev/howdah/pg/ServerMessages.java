package dev.howdah.pg;

import static dev.howdah.pg.ServerPlay.complete;
import static dev.howdah.pg.ServerPlay.described;
import static dev.howdah.pg.ServerPlay.message;
import static dev.howdah.pg.ServerPlay.ready;

import com.sun.management.ThreadMXBean;
import dev.howdah.pg.wire.BigEndian;
import dev.howdah.pg.wire.WireOutput;
import java.io.ByteArrayInputStream;
import java.io.OutputStream;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * A server that says anything to a query, a cursor, a pipeline, a script, COPY and others. The
 * client takes it or refuses it, within memory and in the same way however it is cut into pieces,
 * and comes to an end.
 */
public final class ServerMessages {
  /**
   * What one conversation may take for each byte that the server has said, and for a connection.
   */
  private static final long MOST_ALLOCATED_OF_A_BYTE = 1 << 12;

  private static final long MOST_ALLOCATED = 8 << 20;

  /** A length that is written as it stands, behind the type. */
  private static final int LIE = 255;

  private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
  private static final List<Consumer<Connection>> WORKS =
      List.of(
          connection -> read(connection.query("select 1")),
          connection -> {
            for (int i = 0; i < 3; i++) {
              read(connection.query(Options.DEFAULT.binary(false), "select $1", i));
            }
          },
          connection -> {
            try (Cursor cursor = connection.cursor("select 1")) {
              cursor.forEachRemaining(ServerMessages::read);
            }
          },
          connection -> connection.script("select 1; select 2").forEach(ServerMessages::read),
          connection -> {
            try (Pipeline pipeline = connection.pipeline()) {
              Pipeline.Answer first = pipeline.query("select 1");
              Pipeline.Answer second = pipeline.query("select 2");
              pipeline.run();
              read(first.get());
              read(second.get());
            }
          },
          connection -> connection.copyOut(CopyFormat.BINARY, "select 1", ServerMessages::read),
          connection -> connection.copyOut(CopyFormat.TEXT, "select 1", ServerMessages::read),
          connection -> connection.copyOut(CopyFormat.CSV, "select 1", ServerMessages::read),
          connection -> connection.copyOut("copy t to stdout", OutputStream.nullOutputStream()),
          connection ->
              connection.copyIn("copy t from stdin", new ByteArrayInputStream(new byte[100])),
          connection -> connection.writeJson(OutputStream.nullOutputStream(), "select 1"),
          connection -> connection.writeEdn(OutputStream.nullOutputStream(), "select 1"),
          connection -> connection.writeCsv(OutputStream.nullOutputStream(), "select 1"),
          connection -> connection.transaction(tx -> tx.execute("update t set a = 1")),
          connection -> connection.describe("select $1"));

  private ServerMessages() {}

  /** Conversations that go well, for each work. */
  public static List<byte[]> seeds() {
    List<byte[]> seeds = new ArrayList<>();
    for (int work = 0; work < WORKS.size(); work++) {
      for (int type : new int[] {23, 25, 1007, 2249, 90_000}) {
        seeds.add(
            seed(
                work,
                out -> {
                  described(out, type);
                  answer(out);
                  answer(out);
                }));
      }
      seeds.add(
          seed(
              work,
              out -> {
                message(out, 'N', body -> body.text("SNOTICE\0C00000\0Mhello\0\0"));
                message(out, 'S', body -> body.text("TimeZone\0UTC\0"));
                message(out, 'A', body -> body.text("1234channel\0payload\0"));
                message(out, 'E', body -> body.text("SERROR\0C42601\0Mno\0P1\0\0"));
                ready(out);
              }));
      seeds.add(
          seed(
              work,
              out -> {
                ServerPlay.columns(out, 23);
                answer(out);
              }));
      seeds.add(
          seed(
              work,
              out -> {
                described(out, 25);
                ready(out);
                message(out, 'H', body -> body.text("\0\0\1\0\0"));
                message(out, 'd', body -> body.text("1\n"));
                message(out, 'c');
                complete(out, "COPY 1");
                ready(out);
              }));
      seeds.add(
          seed(
              work,
              out -> {
                message(out, 'G', body -> body.text("\0\0\1\0\0"));
                complete(out, "COPY 0");
                ready(out);
              }));
    }
    return seeds;
  }

  private static void answer(WireOutput out) {
    message(out, '2');
    message(
        out,
        'D',
        body -> {
          body.int2(1);
          body.int4(4);
          body.int4(1);
        });
    complete(out, "SELECT 1");
    ready(out);
  }

  /**
   * Messages in the form of an input: a work, then of each message its type, the length of its body
   * in one byte, its body.
   */
  private static byte[] seed(int work, Consumer<WireOutput> conversation) {
    WireOutput said = new WireOutput(256);
    conversation.accept(said);
    WireOutput out = new WireOutput(256);
    out.int1(work);
    byte[] bytes = said.toByteArray();
    for (int at = 0; at < bytes.length; ) {
      int length = BigEndian.int4(bytes, at + 1) - 4;
      out.int1(bytes[at]);
      out.int1(length);
      out.bytes(bytes, at + 5, length);
      at += 5 + length;
    }
    return out.toByteArray();
  }

  private static byte[] conversation(byte[] input) {
    WireOutput out = new WireOutput(input.length * 5);
    for (int at = 1; at + 2 <= input.length; ) {
      int length = input[at + 1] & 0xff;
      // A type of 0 is refused too, but where nobody waits for a message it is taken for none, as
      // long as more may come.
      out.int1(input[at] == 0 ? '?' : input[at]);
      if (length != LIE) {
        length = Math.min(length, input.length - at - 2);
        out.int4(length + 4);
      } else {
        length = Math.min(4, input.length - at - 2);
      }
      out.bytes(input, at + 2, length);
      at += 2 + length;
    }
    return out.toByteArray();
  }

  /** Has one conversation. */
  public static void attack(byte[] input) {
    if (input.length == 0) {
      return;
    }
    Consumer<Connection> work = WORKS.get((input[0] & 0xff) % WORKS.size());
    byte[] said = conversation(input);
    String whole = outcome(said, Integer.MAX_VALUE, work);
    String pieces = outcome(said, 1 + (input[0] & 0x70) / 16, work);
    if (!whole.equals(pieces)) {
      throw new AssertionError("whole: " + whole + "\nin pieces: " + pieces);
    }
    long most = MOST_ALLOCATED + said.length * MOST_ALLOCATED_OF_A_BYTE;
    // What the first takes may be for classes, which are loaded meanwhile.
    if (allocated(said, work) > most && allocated(said, work) > most) {
      throw new AssertionError("more than " + most + " bytes allocated for " + said.length);
    }
  }

  /** What became of it: nothing worth a word, or the error. */
  private static String outcome(byte[] said, int piece, Consumer<Connection> work) {
    return ServerPlay.against(
        said,
        piece,
        connection -> {
          try {
            work.accept(connection);
            return "done";
          } catch (PgException e) {
            return e.getClass().getSimpleName() + " " + e.sqlState() + " " + e.getMessage();
          } finally {
            connection.close();
          }
        });
  }

  private static long allocated(byte[] said, Consumer<Connection> work) {
    long thread = Thread.currentThread().getId();
    long before = THREADS.getThreadAllocatedBytes(thread);
    outcome(said, Integer.MAX_VALUE, work);
    return THREADS.getThreadAllocatedBytes(thread) - before;
  }

  private static void read(Iterable<Row> rows) {
    rows.forEach(ServerMessages::read);
  }

  private static void read(Row row) {
    for (int i = 0; i < row.width(); i++) {
      try {
        row.getString(i);
        row.getObject(i);
      } catch (PgException e) {
        // A value that cannot be read is an error of that value.
        continue;
      }
    }
  }
}
