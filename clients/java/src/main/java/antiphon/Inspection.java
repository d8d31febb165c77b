package antiphon;

import java.util.List;

/**
 * One exchange with its history.
 *
 * @param exchange the exchange
 * @param messages the whole logical history, the answer included
 * @param path the exchanges that they come from, by their ids, the root first
 */
public record Inspection(Exchange exchange, List<Message> messages, List<String> path) {}
