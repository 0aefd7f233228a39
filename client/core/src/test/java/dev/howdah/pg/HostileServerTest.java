package dev.howdah.pg;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import dev.howdah.pg.wire.WireOutput;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/**
 * A server that sends whatever it likes: the client must say what is wrong, and neither hang nor
 * swallow memory.
 */
class HostileServerTest {
  /** Plays a server for one connection: a part for the startup, and one for the first statement. */
  private static PgException against(
      Consumer<WireOutput> startup, Consumer<WireOutput> answer, Map<String, String> settings) {
    return against(startup, answer, settings, connection -> connection.query("select 1"));
  }

  private static PgException against(
      Consumer<WireOutput> startup,
      Consumer<WireOutput> answer,
      Map<String, String> settings,
      Consumer<Connection> work) {
    try (ServerSocket listener = new ServerSocket(0, 5, InetAddress.getLoopbackAddress())) {
      Thread server = new Thread(() -> serve(listener, startup, answer));
      server.setDaemon(true);
      server.start();
      Config.Builder config =
          Config.builder(Map.of())
              .host("127.0.0.1")
              .port(listener.getLocalPort())
              .user("u")
              .password("secret")
              .set("connect_timeout", 5)
              .set("query_timeout", 3)
              .set("cancel_timeout", 1);
      settings.forEach(config::set);
      return assertThrows(
          PgException.class,
          () -> {
            try (Connection connection = Connection.open(config.build())) {
              work.accept(connection);
            }
          });
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void serve(
      ServerSocket listener, Consumer<WireOutput> startup, Consumer<WireOutput> answer) {
    try (Socket socket = listener.accept()) {
      InputStream in = socket.getInputStream();
      byte[] received = new byte[65_536];
      int count = in.read(received);
      WireOutput out = new WireOutput(1024);
      startup.accept(out);
      OutputStream target = socket.getOutputStream();
      target.write(out.array(), 0, out.size());
      count = Math.min(count, in.read(received));
      out.clear();
      answer.accept(out);
      target.write(out.array(), 0, out.size());
      while (count >= 0) {
        count = in.read(received);
      }
    } catch (IOException e) {
      // The client hung up, as it should.
      return;
    }
  }

  private static void ready(WireOutput out) {
    int ok = out.begin('R');
    out.int4(0);
    out.end(ok);
    int idle = out.begin('Z');
    out.int1('I');
    out.end(idle);
  }

  private static void message(WireOutput out, char type, byte... body) {
    int start = out.begin(type);
    out.bytes(body);
    out.end(start);
  }

  private static PgException answering(Consumer<WireOutput> answer) {
    return against(HostileServerTest::ready, answer, Map.of());
  }

  private static void raw(WireOutput out, char type, int length) {
    out.int1(type);
    out.int4(length);
  }

  @Test
  void lengthsThatLieAreRefused() {
    assertTrue(answering(out -> raw(out, 'D', -1)).getMessage().contains("max_message_bytes"));
    assertTrue(answering(out -> raw(out, 'D', 0)).getMessage().contains("length"));
    assertTrue(
        answering(out -> raw(out, '1', Integer.MAX_VALUE))
            .getMessage()
            .contains("max_message_bytes"));
    assertTrue(
        answering(out -> raw(out, 'T', Integer.MIN_VALUE))
            .getMessage()
            .contains("max_message_bytes"));
  }

  @Test
  void aGiganticLengthCostsOnlyWhatIsSent() {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long before = threads.getThreadAllocatedBytes(Thread.currentThread().getId());
    PgException error = answering(out -> raw(out, 'D', 1_000_000_000));
    assertTrue(error instanceof ConnectionException, error.toString());
    long allocated = threads.getThreadAllocatedBytes(Thread.currentThread().getId()) - before;
    assertTrue(allocated < 20_000_000, allocated + " bytes");
  }

  @Test
  void settingsWithoutEndAreRefused() {
    Consumer<WireOutput> many =
        out -> {
          for (int i = 0; i < 20_000; i++) {
            message(out, 'S', ("setting" + i + "\0value\0").getBytes(StandardCharsets.US_ASCII));
          }
          ready(out);
        };
    PgException names = against(many, out -> {}, Map.of());
    assertTrue(names.getMessage().contains("settings that the server reports"), names.getMessage());
    PgException values =
        answering(
            out ->
                message(
                    out,
                    'S',
                    ("x\0" + "y".repeat(2_000_000) + "\0").getBytes(StandardCharsets.US_ASCII)));
    assertTrue(
        values.getMessage().contains("settings that the server reports"), values.getMessage());
    // A setting that changes often is one setting.
    PgException changes =
        answering(
            out -> {
              for (int i = 0; i < 20_000; i++) {
                message(
                    out, 'S', ("setting\0value" + i + "\0").getBytes(StandardCharsets.US_ASCII));
              }
              message(out, '?');
            });
    assertTrue(changes.getMessage().contains("type '?'"), changes.getMessage());
  }

  @Test
  void messagesOutOfOrderAreRefused() {
    assertTrue(
        answering(out -> message(out, 'D', (byte) 0, (byte) 0)).getMessage().contains("type 'D'"));
    assertTrue(
        answering(out -> message(out, 'T', (byte) 0, (byte) 0))
            .getMessage()
            .contains("before the parameters"));
    assertTrue(answering(out -> message(out, '?')).getMessage().contains("type '?'"));
    assertTrue(answering(out -> message(out, (char) 0)).getMessage().contains("type 0"));
    assertTrue(
        against(out -> message(out, 'D'), out -> {}, Map.of())
            .getMessage()
            .contains("while the session starts"));
    assertTrue(
        against(out -> message(out, 'Z', (byte) 'I'), out -> {}, Map.of())
            .getMessage()
            .contains("authenticated"));
  }

  private static void described(WireOutput out, int columns) {
    message(out, '1');
    message(out, 't', (byte) 0, (byte) 0);
    int shape = out.begin('T');
    out.int2(columns);
    for (int i = 0; i < columns; i++) {
      out.cstring("c");
      out.int4(0);
      out.int2(0);
      out.int4(23);
      out.int2(4);
      out.int4(-1);
      out.int2(0);
    }
    out.end(shape);
  }

  @Test
  void columnCountsThatLieAreRefused() {
    PgException many =
        answering(
            out -> {
              message(out, '1');
              message(out, 't', (byte) 0, (byte) 0);
              message(out, 'T', (byte) 0xff, (byte) 0xff);
            });
    assertTrue(many.getMessage().contains("65535 columns"), many.getMessage());
    PgException few =
        answering(
            out -> {
              message(out, '1');
              message(out, 't', (byte) 0, (byte) 0);
              message(out, 'T', (byte) 0, (byte) 5);
            });
    assertTrue(few.getMessage().contains("malformed"), few.getMessage());
    PgException parameters =
        answering(
            out -> {
              message(out, '1');
              message(out, 't', (byte) 0xff, (byte) 0xff);
            });
    assertTrue(parameters.getMessage().contains("malformed"), parameters.getMessage());
  }

  private static PgException row(byte... body) {
    return answering(
        out -> {
          described(out, 1);
          message(out, '2');
          message(out, 'D', body);
        });
  }

  @Test
  void rowsWhoseLengthsLieAreRefused() {
    assertTrue(row((byte) 0, (byte) 2).getMessage().contains("not a row of 1 columns"));
    assertTrue(row((byte) 0, (byte) 1).getMessage().contains("not a row"));
    assertTrue(
        row((byte) 0, (byte) 1, (byte) 0x7f, (byte) 0xff, (byte) 0xff, (byte) 0xff, (byte) 1)
            .getMessage()
            .contains("not a row"));
    assertTrue(
        row((byte) 0, (byte) 1, (byte) 0xff, (byte) 0xff, (byte) 0xff, (byte) 0xfe)
            .getMessage()
            .contains("not a row"));
    assertTrue(
        row((byte) 0, (byte) 1, (byte) 0, (byte) 0, (byte) 0, (byte) 0, (byte) 9)
            .getMessage()
            .contains("not a row"));
  }

  @Test
  void disorderAmongRowsIsRefused() {
    for (char type : "RKvtnTWAp?".toCharArray()) {
      PgException error =
          answering(
              out -> {
                described(out, 1);
                message(out, '2');
                message(out, type, new byte[type == 'A' ? 2 : 0]);
              });
      assertTrue(error instanceof ConnectionException, type + ": " + error);
      assertTrue(
          error.getMessage().contains(type == 'A' ? "malformed" : "while a statement runs"),
          type + ": " + error.getMessage());
    }
    PgException copy =
        answering(
            out -> {
              described(out, 1);
              message(out, '2');
              message(out, 'G');
            });
    assertTrue(copy.getMessage().contains("where no COPY was asked for"), copy.getMessage());
  }

  @Test
  void disorderInAPipelineIsRefused() {
    Consumer<Connection> two =
        connection -> {
          try (Pipeline pipeline = connection.pipeline()) {
            Pipeline.Answer first = pipeline.query("select 1");
            Pipeline.Answer second = pipeline.query("select 1");
            pipeline.run();
            assertEquals(0, first.get().size());
            second.get();
          }
        };
    for (char type : "DKt?".toCharArray()) {
      PgException error =
          against(
              HostileServerTest::ready,
              out -> {
                described(out, 1);
                message(out, 'Z', (byte) 'I');
                message(out, '2');
                message(out, 'C', "SELECT 0\0".getBytes(StandardCharsets.US_ASCII));
                message(out, 'Z', (byte) 'I');
                message(out, type, (byte) 0, (byte) 0);
              },
              Map.of(),
              two);
      assertTrue(error instanceof ConnectionException, type + ": " + error);
      assertTrue(
          error.getMessage().contains("type '" + type + "'"), type + ": " + error.getMessage());
    }
  }

  private static PgException copying(CopyFormat format, Consumer<WireOutput> data) {
    return against(
        HostileServerTest::ready,
        out -> {
          described(out, 1);
          message(out, 'Z', (byte) 'I');
          message(out, 'H', (byte) 1, (byte) 0, (byte) 1, (byte) 0, (byte) 1);
          data.accept(out);
        },
        Map.of("max_message_bytes", "2000", "query_timeout", "0"),
        connection -> connection.copyOut(format, "select 1", row -> {}));
  }

  private static void copyData(WireOutput out, int extension, int columns, int length) {
    WireOutput data = new WireOutput(64);
    data.bytes("PGCOPY\n\377\r\n\0".getBytes(StandardCharsets.ISO_8859_1));
    data.int4(0);
    data.int4(extension);
    data.int2(columns);
    data.int4(length);
    data.int4(7);
    data.int2(-1);
    message(out, 'd', data.toByteArray());
  }

  @Test
  void disorderInCopyIsRefused() {
    for (char type : "RKt?".toCharArray()) {
      PgException error =
          copying(
              CopyFormat.BINARY,
              out -> {
                copyData(out, 0, 1, 4);
                message(out, type);
              });
      assertTrue(error.getMessage().contains("while COPY runs"), type + ": " + error.getMessage());
    }
  }

  /**
   * Nothing follows the lie, and no timeout ends the wait: only a client that looks at what it has
   * got says more than that.
   */
  @Test
  void dataOfCopyThatLieAreRefusedAtOnce() {
    int[][] malformed = {{-1, 1, 4}, {0, 2, 4}, {0, 1, -2}, {0, 300, 4}, {0, 0, 4}, {0, -2, 4}};
    for (int[] lie : malformed) {
      assertRefused(
          "22P04",
          copying(CopyFormat.BINARY, out -> copyData(out, lie[0], lie[1], lie[2])),
          Arrays.toString(lie));
    }
    for (int[] lie :
        new int[][] {{Integer.MAX_VALUE, 1, 4}, {0, 1, Integer.MAX_VALUE}, {0, 1, 3000}}) {
      assertRefused(
          "54000",
          copying(CopyFormat.BINARY, out -> copyData(out, lie[0], lie[1], lie[2])),
          Arrays.toString(lie));
    }
    for (CopyFormat format : List.of(CopyFormat.TEXT, CopyFormat.CSV)) {
      byte[] two = "1\t2,3\n".getBytes(StandardCharsets.US_ASCII);
      assertRefused(
          "22P04", copying(format, out -> message(out, 'd', two)), format + ": two columns");
      byte[] endless = "1".repeat(1000).getBytes(StandardCharsets.US_ASCII);
      assertRefused(
          "54000",
          copying(
              format,
              out -> {
                for (int i = 0; i < 4; i++) {
                  message(out, 'd', endless);
                }
              }),
          format + ": a row without end");
    }
  }

  private static void assertRefused(String sqlState, PgException error, String lie) {
    assertEquals(sqlState, error.sqlState(), lie + ": " + error);
    assertTrue(error.getMessage().contains("the connection is closed"), lie + ": " + error);
  }

  private static void sasl(WireOutput out, int kind, String text) {
    int start = out.begin('R');
    out.int4(kind);
    out.text(text);
    out.end(start);
  }

  @Test
  void scramIsCheckedBeforeAnythingIsComputed() {
    Consumer<WireOutput> offer = out -> sasl(out, 10, "SCRAM-SHA-256\0\0");
    PgException nonce =
        against(offer, out -> sasl(out, 11, "r=notours,s=c2FsdA==,i=4096"), Map.of());
    assertTrue(nonce.getMessage().contains("nonce"), nonce.getMessage());
    assertThrows(
        ConnectionException.class,
        () -> {
          throw against(offer, out -> sasl(out, 12, "v=AAAA"), Map.of());
        });
    PgException skipped = against(offer, HostileServerTest::ready, Map.of());
    assertTrue(skipped.getMessage().contains("proving"), skipped.getMessage());
    PgException unknown = against(out -> sasl(out, 10, "OTHER\0\0"), out -> {}, Map.of());
    assertTrue(unknown.getMessage().contains("OTHER"), unknown.getMessage());
  }

  @Test
  void passwordsAreNotSentInClearText() {
    Consumer<WireOutput> ask = out -> sasl(out, 3, "");
    assertTrue(against(ask, out -> {}, Map.of()).getMessage().contains("allow_cleartext_password"));
    assertTrue(
        against(ask, out -> {}, Map.of("channel_binding", "require"))
            .getMessage()
            .contains("channel_binding"));
  }

  @Test
  void aServerThatFallsSilentIsLeft() {
    PgException error = answering(out -> {});
    assertTrue(error.getMessage().contains("cancel_timeout"), error.getMessage());
    PgException silent = against(out -> {}, out -> {}, Map.of("connect_timeout", "0.5"));
    assertTrue(silent.getMessage().contains("connect_timeout"), silent.getMessage());
  }

  @Test
  void theByteStreamCutAnywhereGivesTheSameRows() throws IOException {
    WireOutput whole = new WireOutput(4096);
    ready(whole);
    int startup = whole.size();
    described(whole, 2);
    int prepared = whole.size();
    message(whole, '2');
    for (int i = 0; i < 3; i++) {
      int row = whole.begin('D');
      whole.int2(2);
      whole.int4(4);
      whole.int4(i);
      whole.int4(-1);
      whole.end(row);
    }
    message(whole, 'C', "SELECT 3\0".getBytes(StandardCharsets.US_ASCII));
    message(whole, 'Z', (byte) 'I');
    byte[] bytes = whole.toByteArray();
    for (int cut = 1; cut < bytes.length; cut++) {
      cutAt(cut, bytes, startup, prepared);
    }
  }

  private static void cutAt(int cut, byte[] bytes, int startup, int prepared) throws IOException {
    try (ServerSocket listener = new ServerSocket(0, 5, InetAddress.getLoopbackAddress())) {
      Thread server =
          new Thread(
              () -> {
                try (Socket socket = listener.accept()) {
                  socket.setTcpNoDelay(true);
                  byte[] received = new byte[65_536];
                  int[] ends = {0, startup, prepared, bytes.length};
                  for (int part = 0; part < 3; part++) {
                    socket.getInputStream().read(received);
                    for (int at = ends[part]; at < ends[part + 1]; ) {
                      int end = at < cut && cut < ends[part + 1] ? cut : ends[part + 1];
                      socket.getOutputStream().write(Arrays.copyOfRange(bytes, at, end));
                      Thread.yield();
                      at = end;
                    }
                  }
                  socket.getInputStream().read(received);
                } catch (IOException e) {
                  throw new UncheckedIOException(e);
                }
              });
      server.setDaemon(true);
      server.start();
      try (Connection connection =
          Connection.open(
              Config.builder(Map.of()).host("127.0.0.1").port(listener.getLocalPort()).build())) {
        Result rows = connection.query("select 1");
        assertEquals(3, rows.size());
        assertEquals(2, rows.get(2).getInt(0));
        assertTrue(rows.get(1).isNull(1));
      }
    }
  }
}
