package dev.howdah.pg.wire;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.SocketTimeoutException;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.CancelledKeyException;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;

/** A plain TCP or UNIX socket. */
public final class SocketTransport implements Transport {
  private static final String CLOSED = "the connection was closed";

  private final SocketChannel channel;
  private final Selector selector;
  private final SelectionKey key;
  private boolean drained;

  private SocketTransport(SocketChannel channel) throws IOException {
    this.channel = channel;
    this.selector = Selector.open();
    this.key = channel.register(selector, 0);
  }

  /**
   * Connects.
   *
   * @param deadline a {@link System#nanoTime} value, or {@link Long#MAX_VALUE} for none
   */
  public static SocketTransport connect(SocketAddress address, long deadline) throws IOException {
    boolean tcp = address instanceof InetSocketAddress;
    SocketChannel channel =
        tcp ? SocketChannel.open() : SocketChannel.open(StandardProtocolFamily.UNIX);
    try {
      if (tcp) {
        channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
        channel.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
      }
      // Connecting to a UNIX socket never waits, and some JDKs refuse it on a channel that does not
      // block.
      if (!tcp) {
        channel.connect(address);
      }
      channel.configureBlocking(false);
      SocketTransport transport = new SocketTransport(channel);
      if (tcp) {
        transport.finishConnect(address, deadline);
      }
      return transport;
    } catch (IOException | RuntimeException e) {
      channel.close();
      throw e;
    }
  }

  private void finishConnect(SocketAddress address, long deadline) throws IOException {
    try {
      if (channel.connect(address)) {
        return;
      }
      while (!channel.finishConnect()) {
        if (select(SelectionKey.OP_CONNECT, deadline) == 0 && System.nanoTime() - deadline >= 0) {
          throw new SocketTimeoutException("no answer in the time that connect_timeout gives");
        }
        if (Thread.currentThread().isInterrupted()) {
          throw new IOException("the thread was interrupted while connecting");
        }
      }
    } catch (IOException e) {
      close();
      throw e;
    }
  }

  @Override
  public int read(ByteBuffer target) throws IOException {
    int count = channel.read(target);
    drained = count >= 0 && target.hasRemaining();
    return count;
  }

  @Override
  public boolean isDrained() {
    return drained;
  }

  @Override
  public boolean write(ByteBuffer source) throws IOException {
    while (source.hasRemaining()) {
      if (channel.write(source) == 0) {
        return false;
      }
    }
    return true;
  }

  @Override
  public int await(int operations, long deadline) throws IOException {
    try {
      return select(operations, deadline);
    } catch (CancelledKeyException | ClosedSelectorException e) {
      throw new IOException(CLOSED, e);
    }
  }

  private int select(int operations, long deadline) throws IOException {
    if (key.interestOps() != operations) {
      key.interestOps(operations);
    }
    long timeout = 0;
    if (deadline != Long.MAX_VALUE) {
      long left = deadline - System.nanoTime();
      if (left <= 0) {
        return 0;
      }
      timeout = left / 1_000_000 + 1;
    }
    selector.select(timeout);
    if (!selector.isOpen()) {
      throw new IOException(CLOSED);
    }
    // The key's ready operations are those of the last time it was selected, so it must be selected
    // now.
    boolean selected = selector.selectedKeys().remove(key);
    return selected && key.isValid() ? key.readyOps() & operations : 0;
  }

  @Override
  public void wakeUp() {
    try {
      selector.wakeup();
    } catch (InternalError ignored) {
      // It was closed this moment; whoever awaits has noticed.
    }
  }

  @Override
  public byte[] channelBinding() {
    return null;
  }

  @Override
  public void close() {
    try {
      selector.close();
    } catch (IOException ignored) {
      // The descriptor is gone either way.
    }
    try {
      channel.close();
    } catch (IOException ignored) {
      // The descriptor is gone either way.
    }
  }

  @Override
  public boolean isOpen() {
    return channel.isOpen();
  }
}
