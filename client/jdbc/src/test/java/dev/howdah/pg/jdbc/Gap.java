package dev.howdah.pg.jdbc;

import dev.howdah.pg.PrivateServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;

/**
 * A network in front of the tests' server. It hands on what both sides say until it is told to lose
 * it, to take nothing more, or to be slow.
 */
final class Gap implements AutoCloseable {
  private final ServerSocket door = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
  private final List<Socket> sockets = new CopyOnWriteArrayList<>();
  private final CountDownLatch closed = new CountDownLatch(1);
  private volatile boolean silent;
  private volatile boolean deaf;
  private volatile int pause;

  Gap() throws IOException {
    daemon(
        () -> {
          while (true) {
            Socket client = opened(door.accept());
            Socket server = opened(new Socket("127.0.0.1", PrivateServer.shared().port()));
            daemon(() -> hand(client, server, false));
            daemon(() -> hand(server, client, true));
          }
        });
  }

  /** Connects through it; the parameters are those of the address, without the question mark. */
  Connection connect(String parameters) throws SQLException {
    return DriverManager.getConnection(
        "jdbc:howdah://tester@127.0.0.1:" + door.getLocalPort() + "/postgres?" + parameters);
  }

  /** Loses what either side says from now on. */
  void silence() {
    silent = true;
  }

  /** Takes nothing more from either side. */
  void deafen() {
    deaf = true;
  }

  /** Hands on what the server says in eight pieces, with a pause in milliseconds after each. */
  void slow(int milliseconds) {
    pause = milliseconds;
  }

  private Socket opened(Socket socket) {
    sockets.add(socket);
    return socket;
  }

  private interface Loop {
    void run() throws IOException, InterruptedException;
  }

  private static void daemon(Loop loop) {
    Thread thread =
        new Thread(
            () -> {
              try {
                loop.run();
              } catch (IOException | InterruptedException e) {
                // One side has closed, which is how it ends.
              }
            });
    thread.setDaemon(true);
    thread.start();
  }

  private void hand(Socket from, Socket to, boolean answers)
      throws IOException, InterruptedException {
    byte[] buffer = new byte[4096];
    for (int count = from.getInputStream().read(buffer);
        count >= 0;
        count = from.getInputStream().read(buffer)) {
      if (deaf) {
        closed.await();
      }
      if (answers && pause > 0) {
        handSlowly(buffer, count, to);
      } else if (!silent) {
        to.getOutputStream().write(buffer, 0, count);
      }
    }
    to.close();
  }

  private void handSlowly(byte[] buffer, int count, Socket to)
      throws IOException, InterruptedException {
    int piece = Math.max(1, count / 8);
    for (int at = 0; at < count; at += piece) {
      to.getOutputStream().write(buffer, at, Math.min(piece, count - at));
      Thread.sleep(pause);
    }
  }

  @Override
  public void close() throws IOException {
    closed.countDown();
    door.close();
    for (Socket socket : sockets) {
      socket.close();
    }
  }
}
