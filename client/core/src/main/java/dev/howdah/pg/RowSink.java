package dev.howdah.pg;

import dev.howdah.pg.wire.Wire;

/** Takes rows as they come from the wire. */
@FunctionalInterface
interface RowSink {
  /** Drops rows. */
  RowSink NONE = wire -> {};

  /** Takes the current message, a row whose form was checked. Its bytes are gone after the call. */
  void row(Wire wire);
}
