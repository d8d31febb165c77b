package antiphon

// What was consumed, and how much may be spent. Knows nothing of by what.

import (
	"regexp"
	"strings"

	pb "antiphon/gen/antiphonv1"
)

// Usage is the tokens of one model call with its retries and repairs, or of a run. What the provider did not say is nil, which
// is not zero.
type Usage struct {
	// InputTokens are all that were read, cached ones included.
	InputTokens *uint64
	// OutputTokens are all that were written, reasoning included.
	OutputTokens       *uint64
	TotalTokens        *uint64
	CachedInputTokens  *uint64
	CacheWrittenTokens *uint64
	ReasoningTokens    *uint64
	// Completeness is "complete", "partial" where the figures are a lower bound, or "unknown".
	Completeness string
	// Reported says that it is the caller's word; the server did not see the call.
	Reported bool
}

func usageOf(raw *pb.Usage) Usage {
	if raw == nil {
		return Usage{Completeness: "unknown"}
	}
	return Usage{
		InputTokens: raw.InputTokens, OutputTokens: raw.OutputTokens, TotalTokens: raw.TotalTokens,
		CachedInputTokens: raw.CachedInputTokens, CacheWrittenTokens: raw.CacheWrittenTokens, ReasoningTokens: raw.ReasoningTokens,
		Completeness: word(raw.GetCompleteness()), Reported: raw.GetReported(),
	}
}

// toRaw is how it goes out, with a call that the caller made.
func (u *Usage) toRaw() *pb.Usage {
	if u == nil {
		return nil
	}
	return &pb.Usage{
		InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, TotalTokens: u.TotalTokens,
		CachedInputTokens: u.CachedInputTokens, CacheWrittenTokens: u.CacheWrittenTokens, ReasoningTokens: u.ReasoningTokens,
	}
}

// Spent is what calls to models consumed that the server made, as far as providers said so.
type Spent struct {
	// Tokens are those read and written.
	Tokens uint64
	// Costs are what they may have cost, by currency, as decimal numbers in text; empty without prices.
	Costs map[string]string
}

func spentOf(raw *pb.Spent) Spent {
	made := Spent{Tokens: raw.GetTokens(), Costs: map[string]string{}}
	for _, cost := range raw.GetCosts() {
		made.Costs[cost.GetCurrency()] = cost.GetAmount()
	}
	return made
}

var costText = regexp.MustCompile(`^([0-9]{1,9}(?:\.[0-9]{1,9})?) ([A-Z]{3})$`)

// costOf reads an amount with its currency, such as "2.50 USD".
func costOf(text string) (*pb.CostAmount, error) {
	said := costText.FindStringSubmatch(text)
	if said == nil || strings.Trim(said[1], "0.") == "" {
		return nil, invalid("CostLimit: %q is not an amount over 0 with its currency, such as \"2.50 USD\"", text)
	}
	return &pb.CostAmount{Amount: said[1], Currency: said[2]}, nil
}

// spendLimitOf is how much may be spent; nil without a limit.
func spendLimitOf(tokens *uint64, cost *pb.CostAmount) *pb.SpendLimit {
	if tokens == nil && cost == nil {
		return nil
	}
	return &pb.SpendLimit{Tokens: tokens, Cost: cost}
}
