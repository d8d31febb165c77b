package antiphon;

import antiphon.gen.SumUsageResponse;

/**
 * What several runs consumed, shared work counted once.
 *
 * @param usage all of it
 * @param runCount over how many runs
 * @param raw the message behind it, with figures for each model and estimates of cost
 */
public record UsageSum(Usage usage, long runCount, SumUsageResponse raw) {
    static UsageSum of(SumUsageResponse raw) {
        return new UsageSum(Usage.of(raw.getUsage()), raw.getRunCount(), raw);
    }
}
