package dev.howdah.pg;

/**
 * A message of NOTIFY.
 *
 * @param channel the channel
 * @param payload the text, empty if there is none
 * @param process the number of the server process that sent it
 */
public record Notification(String channel, String payload, int process) {}
