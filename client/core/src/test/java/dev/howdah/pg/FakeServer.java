package dev.howdah.pg;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Listens in a server's place: the first connections go by their plays, those behind them by the
 * last one.
 */
final class FakeServer implements AutoCloseable {
  /** What is done with one connection, which is closed behind it. */
  interface Play {
    void serve(Socket socket) throws IOException;
  }

  private final ServerSocket listener;
  private final AtomicInteger connections = new AtomicInteger();

  FakeServer(InetAddress address, Play... plays) {
    try {
      listener = new ServerSocket(0, 5, address);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    inBackground(() -> accept(plays));
  }

  private void accept(Play[] plays) throws IOException {
    while (true) {
      Socket socket = listener.accept();
      Play play = plays[Math.min(connections.getAndIncrement(), plays.length - 1)];
      inBackground(
          () -> {
            try (socket) {
              play.serve(socket);
            }
          });
    }
  }

  private static void inBackground(Work work) {
    Thread thread =
        new Thread(
            () -> {
              try {
                work.run();
              } catch (IOException e) {
                // One side has hung up, which ends the play.
                return;
              }
            });
    thread.setDaemon(true);
    thread.start();
  }

  private interface Work {
    void run() throws IOException;
  }

  /** Hands everything on to a server on this machine and back. */
  static Play relayTo(int port) {
    return client -> {
      try (Socket server = new Socket(InetAddress.getLoopbackAddress(), port)) {
        inBackground(() -> server.getInputStream().transferTo(client.getOutputStream()));
        client.getInputStream().transferTo(server.getOutputStream());
      }
    };
  }

  /**
   * Reads the request that a connection begins with, gives an answer to it and one to each message
   * after it, and reads to the end.
   */
  static Play answering(byte[]... answers) {
    return socket -> {
      InputStream in = socket.getInputStream();
      int length = in.read() << 24 | in.read() << 16 | in.read() << 8 | in.read();
      in.readNBytes(length - 4);
      byte[] room = new byte[1 << 16];
      for (int i = 0; i < answers.length && (i == 0 || in.read(room) > 0); i++) {
        socket.getOutputStream().write(answers[i]);
      }
      in.transferTo(OutputStream.nullOutputStream());
    };
  }

  int port() {
    return listener.getLocalPort();
  }

  /** How many connections were made. */
  int connections() {
    return connections.get();
  }

  @Override
  public void close() {
    try {
      listener.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
