package dev.howdah.pg;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class ListenerTest {
  private final BlockingQueue<Notification> seen = new LinkedBlockingQueue<>();
  private final BlockingQueue<PgException> ends = new LinkedBlockingQueue<>();

  private Listener listen() {
    return Listener.open(
        PrivateServer.shared().config().set("application_name", "listener").build(),
        List.of("a", "b"),
        seen::add,
        ends::add);
  }

  @Test
  void notificationsArePushedWhileNobodyAsks() throws InterruptedException {
    try (Connection sender = PrivateServer.connect()) {
      Listener listener = listen();
      for (String channel : List.of("a", "b")) {
        sender.query("select pg_notify($1, 'x')", channel);
        assertEquals(channel, seen.poll(30, TimeUnit.SECONDS).channel());
      }
      assertTrue(listener.isOpen());
      listener.close();
      assertFalse(listener.isOpen());
      assertTrue(ends.isEmpty());
    }
  }

  @Test
  void aListenerWhoseConnectionBreaksSaysSo() throws InterruptedException {
    try (Connection sender = PrivateServer.connect()) {
      Listener listener = listen();
      sender.query(
          "select pg_terminate_backend(pid) from pg_stat_activity where application_name ="
              + " 'listener'");
      assertNotNull(ends.poll(30, TimeUnit.SECONDS));
      listener.close();
      assertFalse(listener.isOpen());
    }
  }
}
