package antiphon;

/**
 * What the run of an exchange started from.
 *
 * @param exchange the exchange, or its id
 */
public record BeforeExchange(OnRecord exchange) implements WorkspacePoint {}
