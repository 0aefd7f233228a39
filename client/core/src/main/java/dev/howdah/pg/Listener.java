package dev.howdah.pg;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.function.Consumer;

/**
 * Pushes notifications to a handler as they come, on a connection and a thread of its own.
 *
 * <p>A notification that is sent while nobody listens is lost; that is so in PostgreSQL. When the
 * connection breaks, the listener ends and says why; whoever must not miss anything opens another,
 * listens, and then looks at the tables.
 */
public final class Listener implements AutoCloseable {
  private static final Duration TURN = Duration.ofSeconds(60);

  private final Connection connection;
  private final Consumer<PgException> ended;
  private final CountDownLatch done = new CountDownLatch(1);
  private volatile boolean closing;

  private Listener(Connection connection, Consumer<PgException> ended) {
    this.connection = connection;
    this.ended = ended;
  }

  /**
   * Listens to channels.
   *
   * @param handler gets each notification; what it throws ends the listener
   * @param ended gets the reason if the listener ends by itself
   */
  public static Listener open(
      Config config,
      List<String> channels,
      Consumer<Notification> handler,
      Consumer<PgException> ended) {
    Connection connection = Connection.open(config);
    try {
      connection.onNotification(handler);
      channels.forEach(connection::listen);
    } catch (RuntimeException e) {
      connection.close();
      throw e;
    }
    Listener listener = new Listener(connection, ended);
    Thread thread = new Thread(listener::run, "howdah listener of " + channels);
    thread.setDaemon(true);
    thread.start();
    return listener;
  }

  private void run() {
    try {
      while (!closing) {
        connection.awaitNotifications(TURN);
      }
    } catch (RuntimeException e) {
      if (!closing) {
        ended.accept(
            e instanceof PgException known
                ? known
                : new PgException("58000", "the handler of notifications failed", e));
      }
    } finally {
      connection.close();
      done.countDown();
    }
  }

  /** Whether it listens. */
  public boolean isOpen() {
    return done.getCount() > 0;
  }

  /**
   * Ends listening; no handler runs any more when this returns, unless this is called by the
   * handler.
   */
  @Override
  public void close() {
    closing = true;
    connection.close();
    boolean interrupted = false;
    while (!Thread.currentThread().getName().startsWith("howdah listener") && done.getCount() > 0) {
      try {
        done.await();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
