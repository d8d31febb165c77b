package antiphon;

import antiphon.gen.CostAmount;
import java.math.BigDecimal;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * What calls to models consumed that the server made, as far as providers said so.
 *
 * @param tokens read and written
 * @param costs what they may have cost, by currency; empty without prices
 */
public record Spent(long tokens, Map<String, BigDecimal> costs) {
    static Spent of(antiphon.gen.Spent raw) {
        return new Spent(
                raw.getTokens(),
                raw.getCostsList().stream()
                        .collect(Collectors.toUnmodifiableMap(CostAmount::getCurrency, cost -> new BigDecimal(cost.getAmount()))));
    }
}
