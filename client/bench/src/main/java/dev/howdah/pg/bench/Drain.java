package dev.howdah.pg.bench;

import dev.howdah.pg.wire.BigEndian;
import dev.howdah.pg.wire.WireOutput;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.util.HashMap;
import java.util.Map;

/**
 * No client at all: a prepared statement's answer is read in the binary format and dropped, message
 * by message.
 */
final class Drain implements Contender {
  private final Socket socket;
  private final InputStream in;
  private final byte[] buffer = new byte[1 << 16];
  private final Map<String, String> names = new HashMap<>();

  Drain(Server server) throws IOException {
    socket = new Socket(server.host(), server.port());
    socket.setTcpNoDelay(true);
    in = socket.getInputStream();
    WireOutput out = new WireOutput(256);
    int start = out.reserveInt4();
    out.int4(196608);
    for (String text : new String[] {"user", server.user(), "database", server.database()}) {
      out.cstring(text);
    }
    out.int1(0);
    BigEndian.int4(out.array(), start, out.size());
    send(out);
    drain();
  }

  private void send(WireOutput out) throws IOException {
    socket.getOutputStream().write(out.array(), 0, out.size());
  }

  private String prepared(String sql) throws IOException {
    String known = names.get(sql);
    if (known == null) {
      known = "s" + names.size();
      names.put(sql, known);
      WireOutput out = new WireOutput(256);
      int parse = out.begin('P');
      out.cstring(known);
      out.cstring(sql);
      out.int2(0);
      out.end(parse);
      out.message('S');
      send(out);
      drain();
    }
    return known;
  }

  @Override
  public Map<String, Work> ways(String testCase, String sql) {
    return Map.of("socket:untouched", () -> run(sql));
  }

  Object run(String sql) throws IOException {
    WireOutput out = new WireOutput(256);
    int bind = out.begin('B');
    out.cstring("");
    out.cstring(prepared(sql));
    out.int2(0);
    out.int2(0);
    out.int2(1);
    out.int2(1);
    out.end(bind);
    int execute = out.begin('E');
    out.cstring("");
    out.int4(0);
    out.end(execute);
    out.message('S');
    send(out);
    return drain();
  }

  /** Reads up to where the server is ready; returns the number of messages. */
  private long drain() throws IOException {
    long messages = 0;
    int head = 0;
    int tail = 0;
    while (true) {
      while (tail - head < 5) {
        System.arraycopy(buffer, head, buffer, 0, tail - head);
        tail -= head;
        head = 0;
        tail += received(tail);
      }
      int type = buffer[head];
      long left = BigEndian.int4(buffer, head + 1) + 1L;
      while (left > tail - head) {
        left -= tail - head;
        head = 0;
        tail = received(0);
      }
      head += (int) left;
      messages++;
      if (type == 'E') {
        throw new IOException("the server sent an error");
      }
      if (type == 'Z') {
        return messages;
      }
    }
  }

  private int received(int at) throws IOException {
    int count = in.read(buffer, at, buffer.length - at);
    if (count < 0) {
      throw new IOException("the server closed the connection");
    }
    return count;
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
