package dev.howdah.pg.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import dev.howdah.pg.ConnectionException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * Messages out of a byte stream that arrives in pieces: which bytes come together must not matter.
 */
class WireTest {
  /** Bytes that arrive in pieces which end at given positions; then the stream ends. */
  private static final class Pieces implements Transport {
    private final byte[] bytes;
    private final int[] ends;
    private int at;
    private int piece;

    private Pieces(byte[] bytes, int... ends) {
      this.bytes = bytes;
      this.ends = ends;
    }

    @Override
    public int read(ByteBuffer target) {
      if (piece == ends.length) {
        return -1;
      }
      int count = Math.min(target.remaining(), ends[piece] - at);
      target.put(bytes, at, count);
      at += count;
      return count;
    }

    /** The next piece comes only when somebody waits for it. */
    @Override
    public int await(int operations, long deadline) {
      piece++;
      return READ;
    }

    @Override
    public boolean write(ByteBuffer source) {
      throw new UnsupportedOperationException("nothing is written here");
    }

    @Override
    public void wakeUp() {
      throw new UnsupportedOperationException("nobody waits here");
    }

    @Override
    public byte[] channelBinding() {
      return null;
    }

    @Override
    public void close() {
      piece = ends.length;
    }

    @Override
    public boolean isOpen() {
      return piece < ends.length;
    }
  }

  private static byte[] messages(int... lengths) {
    Random random = new Random(7);
    WireOutput out = new WireOutput(256);
    for (int length : lengths) {
      byte[] body = new byte[length];
      random.nextBytes(body);
      int start = out.begin('D');
      out.bytes(body);
      out.end(start);
    }
    return out.toByteArray();
  }

  private static List<Integer> read(Transport transport, int count) {
    Wire wire = new Wire(transport, 1 << 20);
    List<Integer> bodies = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      assertEquals('D', wire.next(Long.MAX_VALUE));
      bodies.add(
          Arrays.hashCode(
              Arrays.copyOfRange(wire.body(), wire.offset(), wire.offset() + wire.length())));
    }
    return bodies;
  }

  @Test
  void aStreamCutAtAnyTwoPlacesGivesTheSameMessages() {
    byte[] bytes = messages(0, 1, 30, 5, 0, 17);
    List<Integer> whole = read(new Pieces(bytes, bytes.length), 6);
    for (int first = 0; first < bytes.length; first++) {
      for (int second = first; second < bytes.length; second++) {
        assertEquals(
            whole,
            read(new Pieces(bytes, first, second, bytes.length), 6),
            "cut at " + first + " and " + second);
      }
    }
  }

  @Test
  void messagesLargerThanTheBufferComeInPiecesToo() {
    byte[] bytes = messages(10, 65_530, 65_531, 65_532, 200_000, 3, 400_000, 0);
    List<Integer> whole = read(new Pieces(bytes, bytes.length), 8);
    for (int size : new int[] {1, 7, 4096, 8192, 65_535, 65_536, 65_537, 300_001}) {
      int[] ends = new int[bytes.length / size + 1];
      for (int i = 0; i < ends.length; i++) {
        ends[i] = Math.min(bytes.length, (i + 1) * size);
      }
      assertEquals(whole, read(new Pieces(bytes, ends), 8), "pieces of " + size);
    }
  }

  @Test
  void aStreamThatEndsAnywhereIsAnErrorAndNoMessage() {
    byte[] bytes = messages(0, 9);
    for (int end = 0; end < bytes.length; end++) {
      Transport transport = new Pieces(bytes, end);
      int complete = end < 5 ? 0 : 1;
      ConnectionException error = assertThrows(ConnectionException.class, () -> read(transport, 2));
      assertTrue(error.getMessage().contains("closed the connection"), error.getMessage());
      assertEquals(complete, read(new Pieces(bytes, end), complete).size());
    }
  }

  /** Sends without end and takes nothing. */
  private static final class Flood implements Transport {
    private long sent;
    private boolean open = true;

    @Override
    public int read(ByteBuffer target) {
      int count = target.remaining();
      sent += count;
      target.position(target.limit());
      return count;
    }

    @Override
    public int await(int operations, long deadline) {
      return READ;
    }

    @Override
    public boolean write(ByteBuffer source) {
      return false;
    }

    @Override
    public void wakeUp() {
      throw new UnsupportedOperationException("nobody waits here");
    }

    @Override
    public byte[] channelBinding() {
      return null;
    }

    @Override
    public void close() {
      open = false;
    }

    @Override
    public boolean isOpen() {
      return open;
    }
  }

  @Test
  void whatComesWhileSomethingIsSentIsKeptWithinTheLimit() {
    Flood flood = new Flood();
    Wire wire = new Wire(flood, 1 << 20);
    wire.output().message('S');
    ConnectionException error =
        assertThrows(ConnectionException.class, () -> wire.flush(Long.MAX_VALUE));
    assertTrue(error.getMessage().contains("max_message_bytes"), error.getMessage());
    assertTrue(flood.sent >= 1 << 20 && flood.sent < (1 << 20) + (1 << 17), flood.sent + " bytes");
    assertFalse(flood.isOpen());
  }

  @Test
  void whatComesBeforeTheEndThatIsAwaitedIsNotKept() {
    Flood flood = new Flood();
    Wire wire = new Wire(flood, Integer.MAX_VALUE);
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long before = threads.getThreadAllocatedBytes(Thread.currentThread().getId());
    assertFalse(wire.awaitEnd(System.nanoTime() + 1_000_000_000));
    long allocated = threads.getThreadAllocatedBytes(Thread.currentThread().getId()) - before;
    assertTrue(flood.sent > 1 << 20, flood.sent + " bytes came");
    assertTrue(allocated < 1 << 20, allocated + " bytes");
  }
}
