package antiphon;

/**
 * The id of an exchange on record.
 *
 * @param exchangeId the id
 */
public record ExchangeId(String exchangeId) implements OnRecord {}
