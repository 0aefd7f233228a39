package dev.howdah.pg.wire;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.howdah.pg.PrivateServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import org.junit.jupiter.api.Test;

class SocketTransportTest {
  @Test
  void whateverIsAskedOfAClosedSocketIsAnIoException() throws IOException {
    SocketTransport transport =
        SocketTransport.connect(
            new InetSocketAddress("127.0.0.1", PrivateServer.shared().port()), Long.MAX_VALUE);
    transport.close();
    assertFalse(transport.isOpen());
    assertThrows(
        IOException.class,
        () -> transport.await(Transport.READ, System.nanoTime() + 1_000_000_000L));
    assertThrows(IOException.class, () -> transport.read(ByteBuffer.allocate(1)));
    assertThrows(IOException.class, () -> transport.write(ByteBuffer.allocate(1)));
    transport.wakeUp();
  }
}
