package dev.howdah.pg;

/**
 * What becomes of a statement's rows: where they go while they come, and what stands at their end.
 */
interface Harvest<T> extends Reception {
  /** What was made of the rows, after the last one, with the command's tag. */
  T end(String tag);
}
