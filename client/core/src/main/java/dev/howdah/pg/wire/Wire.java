package dev.howdah.pg.wire;

import dev.howdah.pg.ConnectionException;
import dev.howdah.pg.PgTimeoutException;
import java.io.IOException;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.UnaryOperator;

/**
 * Messages in and out of one connection.
 *
 * <p>Received bytes pass through one reused buffer. {@link #next} makes the next message complete
 * in it and describes it by {@link #type}, {@link #body}, {@link #offset} and {@link #length}; what
 * is to be kept must be copied before the next call. A message larger than the buffer gets an array
 * of its own, which grows only as its bytes arrive: a length that lies costs what was really sent.
 */
public final class Wire {
  private static final int BUFFER = 1 << 16;

  /** The first room for a message that does not fit the buffer. */
  private static final int LARGE = 1 << 18;

  private Transport transport;
  private final int maxMessage;

  /**
   * How much may come while nobody reads messages: the longest one, its head, and what comes with
   * it.
   */
  private final int mostUnread;

  private byte[] buffer = new byte[BUFFER];
  private ByteBuffer view = ByteBuffer.wrap(buffer);
  private int head;
  private int tail;

  private int type;
  private byte[] body;
  private int offset;
  private int length;
  private int position;

  private final Outbox outbox = new Outbox();
  private Runnable interrupted;
  private boolean sawInterrupt;
  private boolean patient;
  private volatile ConnectionException sendFailure;
  private volatile boolean disturbed;

  private final Silence silence = new Silence();

  /** Messages over a transport, none longer than the limit in bytes. */
  public Wire(Transport transport, int maxMessage) {
    this.transport = transport;
    this.maxMessage = maxMessage;
    this.mostUnread = (int) Math.min(Integer.MAX_VALUE - 16, maxMessage + 5L + BUFFER);
  }

  /** The transport below. */
  public Transport transport() {
    return transport;
  }

  /**
   * Puts TLS on top. Bytes that came before the handshake were not protected by it and would be
   * read as if they were (CVE-2021-23222), so any such byte ends the connection.
   */
  public void replaceTransport(UnaryOperator<Transport> securing) {
    if (head != tail) {
      throw new ConnectionException(
          "the server sent data before TLS was agreed; the connection may be tampered with");
    }
    transport = securing.apply(transport);
  }

  /**
   * Called once when the thread that waits for the server is interrupted: it should cancel what
   * runs.
   */
  public void onInterrupt(Runnable action) {
    interrupted = action;
  }

  /**
   * How long the other side may neither send nor take anything while it is waited for, before the
   * connection is closed; zero for ever. A wait that is under way has that long from now on. From
   * any thread.
   */
  public void silence(Duration limit) {
    silence.limit(limit);
    transport.wakeUp();
  }

  /** How long the other side may be silent; zero for ever. */
  public Duration silence() {
    return silence.limit();
  }

  /**
   * The other side is known to be there, although it says nothing here: its silence counts anew.
   */
  public void restartSilence() {
    silence.restart();
  }

  /**
   * From now on an interrupt of the thread that waits cancels nothing, or does again: what ends a
   * transaction must run to its end. It is kept for {@link #takeInterrupt} all the same.
   */
  public void patient(boolean wanted) {
    patient = wanted;
  }

  /**
   * Whether the thread was interrupted while it waited; asking resets it, and the thread's flag is
   * set again.
   */
  public boolean takeInterrupt() {
    boolean was = sawInterrupt;
    sawInterrupt = false;
    if (was) {
      Thread.currentThread().interrupt();
    }
    return was;
  }

  /**
   * What is to be sent by the next {@link #flush} or {@link #push}. Threads that share it hold
   * {@link #lock}.
   */
  public WireOutput output() {
    return outbox.output();
  }

  /** Guards the output where several threads write into it. */
  public ReentrantLock lock() {
    return outbox.lock();
  }

  /** How many times {@link #flush} or {@link #push} had something to send. */
  public long writes() {
    return outbox.writes();
  }

  /**
   * Sends the output as far as the socket takes it, without waiting and beside a thread that reads.
   * What is left goes out when the socket takes more, by the thread that reads; what goes wrong is
   * thrown there.
   */
  public void push() {
    try {
      outbox.push(transport);
    } catch (IOException | RuntimeException e) {
      sendFailure = broken("sending to", e);
    }
  }

  /**
   * Sends the output. While the server does not take it, what the server sends is read into memory,
   * so that neither side waits for the other forever. Where it cannot be sent, the next read says
   * so, behind whatever the server has said before it hung up.
   */
  public void flush(long deadline) {
    flush(
        () -> deadline,
        late -> {
          throw late;
        });
  }

  /**
   * Sends the output as {@link #flush(long)} does. When the deadline passes, the action may move
   * it, or throw what it is given.
   */
  public void flush(LongSupplier deadline, Consumer<PgTimeoutException> late) {
    WireOutput output = outbox.output();
    if (output.size() == 0) {
      return;
    }
    outbox.count();
    silence.breakOff();
    try {
      ByteBuffer source = ByteBuffer.wrap(output.array(), 0, output.size());
      while (!transport.write(source)) {
        if ((awaitOr(late, deadline.getAsLong()) & Transport.READ) != 0) {
          absorb();
        }
      }
    } catch (PgTimeoutException e) {
      // Half a message was sent: nothing sensible can follow it.
      transport.close();
      throw new ConnectionException(
          "the server did not take in time what was sent; the connection is closed", e);
    } catch (IOException e) {
      sendFailure = broken("sending to", e);
    } finally {
      output.clear();
    }
  }

  private int awaitOr(Consumer<PgTimeoutException> late, long deadline) throws IOException {
    try {
      return await(Transport.READ | Transport.WRITE, deadline);
    } catch (PgTimeoutException e) {
      late.accept(e);
      return 0;
    }
  }

  private void absorb() throws IOException {
    makeRoom(1);
    int count = transport.read(window());
    if (count < 0) {
      throw new SocketException("the server closed the connection");
    }
    tail += count;
  }

  private ByteBuffer window() {
    return view.limit(buffer.length).position(tail);
  }

  /**
   * Makes room at the end of the buffer by moving what is unread to its start, or by growing it.
   */
  private void makeRoom(int more) {
    if (head == tail) {
      head = 0;
      tail = 0;
    }
    if (buffer.length - tail >= more) {
      return;
    }
    int unread = tail - head;
    if (unread + more > mostUnread) {
      transport.close();
      throw new ConnectionException(
          "the server has sent more than max_message_bytes, "
              + maxMessage
              + ", before it took what was sent to it; the connection is closed");
    }
    if (unread + more <= buffer.length
        && (unread <= buffer.length / 2 || buffer.length >= mostUnread)) {
      System.arraycopy(buffer, head, buffer, 0, unread);
    } else {
      byte[] larger = new byte[(int) Math.min(mostUnread, buffer.length * 2L)];
      System.arraycopy(buffer, head, larger, 0, unread);
      buffer = larger;
      view = ByteBuffer.wrap(buffer);
    }
    head = 0;
    tail = unread;
  }

  /**
   * Reads the next message.
   *
   * @return its type
   * @throws PgTimeoutException at the deadline; the stream stays in order and can be read on
   */
  public int next(long deadline) {
    need(5, deadline);
    int size = BigEndian.int4(buffer, head + 1) - 4;
    if (size < 0 || size > maxMessage) {
      throw new ConnectionException(
          "the server sent a message of type "
              + name(buffer[head])
              + " with length "
              + size
              + "; max_message_bytes allows 0 to "
              + maxMessage);
    }
    if (size + 5L > buffer.length) {
      readLarge(size, deadline);
    } else {
      need(size + 5, deadline);
      type = buffer[head];
      body = buffer;
      offset = head + 5;
      head += 5 + size;
    }
    length = size;
    position = offset;
    return type;
  }

  /** The type as it is named in the protocol's description, or its number. */
  public static String name(int type) {
    return type > 32 && type < 127 ? "'" + (char) type + "'" : Integer.toString(type);
  }

  /**
   * A message larger than the buffer. A deadline in its middle must not lose the bytes read so far,
   * so the buffer itself grows, within what has arrived, until the message is complete; then it
   * shrinks again.
   */
  private void readLarge(int size, long deadline) {
    int wanted = size + 5;
    while (tail - head < wanted) {
      if (buffer.length - head < Math.min(wanted, tail - head + 1)) {
        growFor(wanted);
      }
      receive(deadline);
    }
    type = buffer[head];
    body = buffer;
    offset = head + 5;
    int left = tail - head - wanted;
    byte[] fresh = new byte[Math.max(BUFFER, left)];
    System.arraycopy(buffer, head + wanted, fresh, 0, left);
    buffer = fresh;
    view = ByteBuffer.wrap(fresh);
    head = 0;
    tail = left;
  }

  private void growFor(int wanted) {
    int unread = tail - head;
    int room = (int) Math.min(wanted, Math.max(LARGE, unread * 2L));
    byte[] larger = new byte[Math.max(room, unread + 1)];
    System.arraycopy(buffer, head, larger, 0, unread);
    buffer = larger;
    view = ByteBuffer.wrap(larger);
    head = 0;
    tail = unread;
  }

  private void need(int count, long deadline) {
    while (tail - head < count) {
      if (head == tail) {
        head = 0;
        tail = 0;
      } else if (buffer.length - head < count) {
        System.arraycopy(buffer, head, buffer, 0, tail - head);
        tail -= head;
        head = 0;
      }
      receive(deadline);
    }
  }

  private void receive(long deadline) {
    try {
      // What would read nothing is not worth a call: most answers come in pieces, each awaited.
      boolean awaited = !transport.isDrained();
      while (true) {
        int count = awaited ? transport.read(window()) : 0;
        if (count > 0) {
          silence.breakOff();
          tail += count;
          return;
        }
        if (count < 0) {
          throw new SocketException("the server closed the connection");
        }
        awaited = true;
        if ((await(Transport.READ | (outbox.stalled() ? Transport.WRITE : 0), deadline)
                & Transport.WRITE)
            != 0) {
          push();
        }
        if (disturbed) {
          disturbed = false;
          throw new PgTimeoutException("the wait was disturbed");
        }
      }
    } catch (IOException e) {
      ConnectionException lost = lost("reading from", e);
      throw sendFailure != null ? sendFailure : lost;
    }
  }

  /**
   * Has a {@link #next} that waits, or the next one that would, end as if its deadline had passed.
   * From any thread.
   */
  public void disturb() {
    disturbed = true;
    transport.wakeUp();
  }

  /** What was meant for a {@link #next} that has ended is not meant for another. */
  public void forgetDisturbance() {
    disturbed = false;
  }

  /** Whether a whole message of this type is in memory, so that reading up to it would not wait. */
  public boolean holds(int wanted) {
    int at = head;
    while (at + 5 <= tail) {
      int size = BigEndian.int4(buffer, at + 1);
      if (size < 4 || size > tail - at - 1) {
        return false;
      }
      if (buffer[at] == wanted) {
        return true;
      }
      at += 1 + size;
    }
    return false;
  }

  private int await(int operations, long deadline) throws IOException {
    int ready = transport.await(operations, silence.end(deadline));
    if (ready != 0) {
      silence.breakOff();
    } else if (Thread.interrupted()) {
      boolean first = !sawInterrupt;
      sawInterrupt = true;
      if (first && !patient && interrupted != null) {
        interrupted.run();
      }
    } else if (deadline != Long.MAX_VALUE && System.nanoTime() - deadline >= 0) {
      throw new PgTimeoutException("the deadline passed while waiting for the server");
    } else {
      failIfSilent();
    }
    return ready;
  }

  private void failIfSilent() {
    if (silence.isTooLong()) {
      transport.close();
      throw new ConnectionException(
          "the server has said nothing for "
              + silence.limit().toMillis()
              + " ms, the limit of the network; the connection is closed");
    }
  }

  /**
   * Whether a byte has arrived that no message has consumed; reads what is there without waiting.
   */
  public boolean hasInput() {
    if (head != tail) {
      return true;
    }
    try {
      absorb();
    } catch (IOException e) {
      throw lost("reading from", e);
    }
    return head != tail;
  }

  /**
   * The type of the next message if it is in memory, so that {@link #next} would not wait, else 0.
   * Reads what is there.
   */
  public int arrived() {
    int known = whole();
    if (known != 0) {
      return known;
    }
    try {
      absorb();
    } catch (IOException e) {
      throw lost("reading from", e);
    }
    return whole();
  }

  /**
   * The type of the next message if it is whole, or has a length for which {@link #next} refuses
   * it; else 0.
   */
  private int whole() {
    if (tail - head < 5) {
      return 0;
    }
    int size = BigEndian.int4(buffer, head + 1);
    return size > tail - head - 1 && size - 4 <= maxMessage ? 0 : buffer[head];
  }

  /** Waits for input until the deadline; returns whether there is any. */
  public boolean awaitInput(long deadline) {
    try {
      while (!hasInput()) {
        int ready = transport.await(Transport.READ, deadline);
        if (ready == 0
            && (Thread.currentThread().isInterrupted() || System.nanoTime() - deadline >= 0)) {
          return false;
        }
      }
      return true;
    } catch (IOException e) {
      throw lost("reading from", e);
    }
  }

  /**
   * Waits, interrupted or not, until the server has closed the connection; returns whether it has
   * by the deadline. What comes before is not kept.
   */
  public boolean awaitEnd(long deadline) {
    boolean interrupted = false;
    try {
      while (System.nanoTime() - deadline < 0) {
        absorb();
        head = tail;
        transport.await(Transport.READ, deadline);
        // A wait ends at once while the flag is set.
        interrupted |= Thread.interrupted();
      }
      return false;
    } catch (IOException e) {
      return true;
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Reads the single byte that answers a request for TLS. */
  public int readByte(long deadline) {
    need(1, deadline);
    return buffer[head++];
  }

  private ConnectionException lost(String doing, Exception cause) {
    transport.close();
    return broken(doing, cause);
  }

  private static ConnectionException broken(String doing, Exception cause) {
    return new ConnectionException(
        "the connection broke while " + doing + " the server: " + cause.getMessage(), cause);
  }

  /** Closes the socket. */
  public void close() {
    transport.close();
  }

  /** The type of the current message. */
  public int type() {
    return type;
  }

  /** The array that holds the current message's body. */
  public byte[] body() {
    return body;
  }

  /** Where the body begins in {@link #body}. */
  public int offset() {
    return offset;
  }

  /** The body's length in bytes. */
  public int length() {
    return length;
  }

  private int take(int count) {
    int at = position;
    if (count > offset + length - at) {
      throw malformed("it ends too early");
    }
    position = at + count;
    return at;
  }

  /** An error about the current message's form. */
  public ConnectionException malformed(String what) {
    return new ConnectionException(
        "the server sent a malformed message of type " + name(type) + ": " + what);
  }

  /** Reads a byte of the current message. */
  public int int1() {
    return body[take(1)];
  }

  /** Reads a 16-bit number of the current message. */
  public int int2() {
    return BigEndian.int2(body, take(2));
  }

  /** Reads a 32-bit number of the current message. */
  public int int4() {
    return BigEndian.int4(body, take(4));
  }

  /** Reads zero-terminated text of the current message. */
  public String cstring() {
    int end = position;
    int limit = offset + length;
    while (end < limit && body[end] != 0) {
      end++;
    }
    if (end == limit) {
      throw malformed("a text has no end");
    }
    String value =
        new String(body, position, end - position, java.nio.charset.StandardCharsets.UTF_8);
    position = end + 1;
    return value;
  }

  /** The bytes of the current message that are not read yet. */
  public byte[] rest() {
    byte[] rest = Arrays.copyOfRange(body, position, offset + length);
    position = offset + length;
    return rest;
  }

  /** How many bytes of the current message are not read yet. */
  public int remaining() {
    return offset + length - position;
  }
}
