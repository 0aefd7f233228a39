package dev.howdah.pg.bench;

import java.net.InetAddress;
import java.nio.ByteBuffer;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.thread.QueuedThreadPool;

/** Jetty with one handler, which answers every request with JSON on the thread that has read it. */
final class HttpServer implements AutoCloseable {
  /** A thread for each of the most connections that load it, and some for its own work. */
  private static final int THREADS = 64 + 16;

  private final org.eclipse.jetty.server.Server server =
      new org.eclipse.jetty.server.Server(new QueuedThreadPool(THREADS));
  private final ServerConnector connector = new ServerConnector(server, 1, 1);

  /** Makes the body of a response. */
  @FunctionalInterface
  interface Answer {
    byte[] body() throws Exception;
  }

  HttpServer(Answer answer) throws Exception {
    connector.setHost(InetAddress.getLoopbackAddress().getHostAddress());
    server.addConnector(connector);
    server.setHandler(
        new Handler.Abstract() {
          @Override
          public boolean handle(Request request, Response response, Callback callback)
              throws Exception {
            byte[] body = answer.body();
            response.getHeaders().put(HttpHeader.CONTENT_TYPE, "application/json");
            response.write(true, ByteBuffer.wrap(body), callback);
            return true;
          }
        });
    server.start();
  }

  int port() {
    return connector.getLocalPort();
  }

  @Override
  public void close() {
    try {
      server.stop();
    } catch (Exception e) {
      throw new IllegalStateException("the HTTP server does not stop", e);
    }
  }
}
