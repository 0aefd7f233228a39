package dev.howdah.pg;

import dev.howdah.pg.wire.Wire;
import dev.howdah.pg.wire.WireOutput;
import java.net.InetSocketAddress;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Function;

/** Connections to a server whose whole part was written before. */
final class ServerPlay {
  private static final int MOST_OF_A_MESSAGE = 1 << 16;

  /** Where a cancel goes: nobody listens there. */
  private static final Config.Address NOWHERE = new Config.Address("127.0.0.1", 1);

  private ServerPlay() {}

  /** Runs work against a server that says these bytes once it is ready, so many at a time. */
  static <T> T against(byte[] said, int piece, Function<Connection, T> work) {
    WireOutput all = new WireOutput(said.length + 64);
    authenticated(all);
    all.bytes(said);
    Config config =
        Config.builder(Map.of())
            .user("u")
            .database("d")
            .set("max_message_bytes", MOST_OF_A_MESSAGE)
            .build();
    Handshake.Endpoint endpoint =
        new Handshake.Endpoint(
            NOWHERE, new InetSocketAddress(NOWHERE.host(), NOWHERE.port()), "disable", true);
    Wire wire = new Wire(new MemoryTransport(all.toByteArray(), piece), MOST_OF_A_MESSAGE);
    return work.apply(
        new Connection(config, new Session(config, endpoint, wire).start(Long.MAX_VALUE)));
  }

  private static void authenticated(WireOutput out) {
    message(out, 'R', body -> body.int4(0));
    message(
        out,
        'K',
        body -> {
          body.int4(7);
          body.int4(7);
        });
    ready(out);
  }

  static void message(WireOutput out, char type, Consumer<WireOutput> body) {
    int start = out.begin(type);
    body.accept(out);
    out.end(start);
  }

  static void message(WireOutput out, char type) {
    message(out, type, body -> {});
  }

  static void ready(WireOutput out) {
    message(out, 'Z', body -> body.int1('I'));
  }

  /** The answer to Parse and Describe of a statement whose columns are of these types. */
  static void described(WireOutput out, int... types) {
    message(out, '1');
    message(out, 't', body -> body.int2(0));
    columns(out, types);
  }

  static void columns(WireOutput out, int... types) {
    message(
        out,
        'T',
        body -> {
          body.int2(types.length);
          for (int type : types) {
            body.cstring("c");
            body.int4(0);
            body.int2(0);
            body.int4(type);
            body.int2(-1);
            body.int4(-1);
            body.int2(0);
          }
        });
  }

  static void complete(WireOutput out, String tag) {
    message(out, 'C', body -> body.cstring(tag));
  }
}
