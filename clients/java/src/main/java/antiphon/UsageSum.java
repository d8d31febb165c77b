package antiphon;

import antiphon.gen.CostEstimate;
import antiphon.gen.SumUsageResponse;
import java.math.BigDecimal;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * What runs consumed, each counted once.
 *
 * @param usage all of it
 * @param runCount over how many runs
 * @param models the same for each model
 * @param costs what it may have cost, by currency; empty without prices
 * @param raw the message behind it
 */
public record UsageSum(Usage usage, long runCount, List<ModelUsage> models, Map<String, BigDecimal> costs, SumUsageResponse raw) {
    static UsageSum of(SumUsageResponse raw) {
        return new UsageSum(
                Usage.of(raw.getUsage()),
                raw.getRunCount(),
                raw.getModelsList().stream().map(ModelUsage::of).toList(),
                raw.getCostEstimatesList().stream()
                        .collect(Collectors.toUnmodifiableMap(
                                CostEstimate::getCurrency, estimate -> new BigDecimal(estimate.getAmount()))),
                raw);
    }
}
