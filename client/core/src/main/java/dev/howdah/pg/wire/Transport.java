package dev.howdah.pg.wire;

import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * A socket that never blocks in a read or a write, so that one thread can do both at once. One
 * thread may read or await while another one writes.
 *
 * <p>A blocking write can wait for a server that itself waits for us to read its answers. And a
 * thread that is interrupted in a blocking call of a channel closes the channel. Neither happens
 * here.
 */
public interface Transport extends AutoCloseable {
  /** For {@link #await}: bytes can be read. */
  int READ = 1;

  /** For {@link #await}: bytes can be written. */
  int WRITE = 4;

  /** Reads what is there: the number of bytes, 0 if none, -1 at the end of the stream. */
  int read(ByteBuffer target) throws IOException;

  /**
   * Whether the last read took all that had come by then, so that another at once would find
   * nothing.
   */
  default boolean isDrained() {
    return false;
  }

  /** Writes what fits; returns whether everything given so far has left this process. */
  boolean write(ByteBuffer source) throws IOException;

  /**
   * Waits until one of the operations can go on, or until the deadline.
   *
   * @param deadline a {@link System#nanoTime} value, or {@link Long#MAX_VALUE} for none
   * @return the operations that are ready; 0 at the deadline or when the thread is interrupted
   */
  int await(int operations, long deadline) throws IOException;

  /**
   * Has the thread that is in {@link #await}, or the next one that comes there, return 0 at once.
   * From any thread.
   */
  void wakeUp();

  /**
   * The hash of the server's certificate for channel binding (tls-server-end-point), or null
   * without TLS.
   */
  byte[] channelBinding();

  @Override
  void close();

  /** Whether {@link #close} has not been called. */
  boolean isOpen();
}
