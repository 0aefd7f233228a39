package dev.howdah.pg;

import dev.howdah.pg.wire.Transport;
import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * What a server sends, from memory and in pieces; what is sent to it is dropped. Behind the last
 * byte it has hung up.
 */
final class MemoryTransport implements Transport {
  private final byte[] bytes;
  private final int piece;
  private int at;
  private boolean open = true;

  /** Bytes that come so many at a time. */
  MemoryTransport(byte[] bytes, int piece) {
    this.bytes = bytes;
    this.piece = piece;
  }

  @Override
  public int read(ByteBuffer target) throws IOException {
    if (!open) {
      throw new IOException("closed");
    }
    if (at == bytes.length) {
      return -1;
    }
    int count = Math.min(Math.min(piece, target.remaining()), bytes.length - at);
    target.put(bytes, at, count);
    at += count;
    return count;
  }

  @Override
  public boolean write(ByteBuffer source) {
    source.position(source.limit());
    return true;
  }

  @Override
  public int await(int operations, long deadline) {
    return operations;
  }

  @Override
  public void wakeUp() {
    // Nobody waits.
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
