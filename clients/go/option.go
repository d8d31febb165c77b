package antiphon

// Options of calls. Knows nothing of what they do.

import (
	"context"
	"slices"
	"strings"
	"time"

	pb "antiphon/gen/antiphonv1"
)

// BeforeCall is called before a tool is. An error refuses the call and is its result, for the model. The calls of one answer run at
// once, and so do the hooks around them.
type BeforeCall func(ctx context.Context, call ToolCall) error

// AfterCall sees each call with its result. An error cancels the loop and is returned from it.
type AfterCall func(ctx context.Context, call ToolCall, result ToolResult) error

// OnDelta hears an answer as it comes. An error ends what it hears of, and is returned from it.
type OnDelta func(ctx context.Context, delta Delta) error

// Generate is the caller's own model, called where the profile's backend is of the kind client. With an [Error] that it returns, the
// server decides by its code whether it is asked again; any other error fails the turn and is returned from the loop, and of its
// text nothing goes to the server.
type Generate func(ctx context.Context, generation *Generation) (Generated, error)

type chosen struct {
	place           Place
	after           Point
	tools           []*Tool
	beforeCall      BeforeCall
	afterCall       AfterCall
	onDelta         OnDelta
	generate        Generate
	capture         *bool
	roundLimit      *uint32
	tokenLimit      *uint64
	costLimit       *pb.CostAmount
	onToolDrift     string
	decisionTimeout time.Duration
	deadline        time.Time
	onDisconnect    string
	id              string
	labels          map[string]string
	ephemeral       bool
	sideEffects     bool
	facts           []Facts
	requestID       string
	pendingID       string
	expectedHead    string
	expires         time.Time
	threads         []NewThread
	mediaType       string
	metadata        any
	etag            string
	contentBlake3   string
	// What an option says that cannot be.
	wrong error
}

// named is the caller's name for a change, or one of ours.
func (s chosen) named() string {
	if s.requestID == "" {
		return fresh()
	}
	return s.requestID
}

// Option is an option of a call. Each says which calls take it; another call refuses it before it does anything.
type Option struct {
	name  string
	apply func(*chosen)
}

// OnThread puts a first turn on a thread: of Capture, Stream, Chain, Coordinate, Explain and Record. With Fork and ForkConversation, which
// make a thread, it says which, with a [NewThread].
func OnThread(thread Place) Option { return Option{"OnThread", func(s *chosen) { s.place = thread }} }

// OnThreads says which threads ForkAll makes, one for each input in order; what is not said is ours.
func OnThreads(threads ...NewThread) Option {
	return Option{"OnThreads", func(s *chosen) { s.threads = threads }}
}

// After is what a turn goes on from: of Stream, Chain, Record, Explain and Prepare.
func After(point Point) Option { return Option{"After", func(s *chosen) { s.after = point }} }

// WithTools are functions that the model may call in every turn whose request names none of its own: of Coordinate, Attach and
// Conversation, and of a conversation's Chain.
func WithTools(tools ...*Tool) Option {
	return Option{"WithTools", func(s *chosen) { s.tools = append([]*Tool{}, tools...) }}
}

// WithBeforeCall is called before each tool, in all loops.
func WithBeforeCall(hook BeforeCall) Option {
	return Option{"WithBeforeCall", func(s *chosen) { s.beforeCall = hook }}
}

// WithAfterCall is called after each tool, in all loops.
func WithAfterCall(hook AfterCall) Option {
	return Option{"WithAfterCall", func(s *chosen) { s.afterCall = hook }}
}

// WithDeltas hears answers as they come: of every call that executes turns, but for Stream and Fork.
func WithDeltas(hear OnDelta) Option {
	return Option{"WithDeltas", func(s *chosen) { s.onDelta = hear }}
}

// WithGenerate is the caller's own model, in all loops.
func WithGenerate(generate Generate) Option {
	return Option{"WithGenerate", func(s *chosen) { s.generate = generate }}
}

// Keep says whether what comes of it is kept: of Prompt, Reply and Prepare.
func Keep(keep bool) Option { return Option{"Keep", func(s *chosen) { s.capture = &keep }} }

// ChainLimit bounds the rounds of tool calls in a turn: of Chain, where 16 is the bound when absent, of Coordinate, where the server
// has its own, and of Conversation.
func ChainLimit(rounds uint32) Option {
	return Option{"ChainLimit", func(s *chosen) { s.roundLimit = &rounds }}
}

// TokenLimit bounds the tokens that all calls to models together read and write, 1 or more: of Coordinate and Chain, a conversation's too.
// The call that reaches it is the last. An answer that asks for another one is refused with the reason SPEND_LIMIT, which is returned from
// the call and never tried again by itself; what was pending stays so. What WithGenerate does is not counted.
func TokenLimit(tokens uint64) Option {
	return Option{"TokenLimit", func(s *chosen) { s.tokenLimit = &tokens }}
}

// CostLimit bounds what they cost by the prices of profiles: an amount over 0 with its currency, such as "2.50 USD", with up to 9 digits on
// each side of the point. It is a limit like [TokenLimit], of the same calls, and there can be both. A model without prices in that
// currency is refused with the same reason; a text that is no cost is refused before anything is sent.
func CostLimit(cost string) Option {
	return Option{"CostLimit", func(s *chosen) { s.costLimit, s.wrong = costOf(cost) }}
}

// OnToolDrift holds for every request of a loop that does not say its own: of Chain, Coordinate and Attach.
func OnToolDrift(policy string) Option {
	return Option{"OnToolDrift", func(s *chosen) { s.onToolDrift = policy }}
}

// DecisionTimeout is how long a decision may take: of Coordinate.
func DecisionTimeout(limit time.Duration) Option {
	return Option{"DecisionTimeout", func(s *chosen) { s.decisionTimeout = limit }}
}

// Deadline is when a coordination ends, whoever is attached then: of Coordinate. A context's deadline ends it, too, where this process
// is still there to tell.
func Deadline(at time.Time) Option { return Option{"Deadline", func(s *chosen) { s.deadline = at }} }

// OnDisconnect is what happens to a turn at work when the stream breaks, "cancel" or "finish": of Coordinate.
func OnDisconnect(policy string) Option {
	return Option{"OnDisconnect", func(s *chosen) { s.onDisconnect = policy }}
}

// CoordinationID names what Chain and Coordinate do, so that it can be attached to; ours when absent. The same start with the same
// id attaches.
func CoordinationID(id string) Option {
	return Option{"CoordinationID", func(s *chosen) { s.id = id }}
}

// Labels are labels to list by: of Chain, Coordinate and Record.
func Labels(labels map[string]string) Option {
	return Option{"Labels", func(s *chosen) { s.labels = labels }}
}

// Ephemeral leaves nothing behind: of Chain and Coordinate.
func Ephemeral() Option { return Option{"Ephemeral", func(s *chosen) { s.ephemeral = true }} }

// AllowSideEffects lets ForkOnce offer tools that have them. Those that need a person are refused all the same.
func AllowSideEffects() Option {
	return Option{"AllowSideEffects", func(s *chosen) { s.sideEffects = true }}
}

// WithFacts says what is known of calls that the caller made: of Record.
func WithFacts(facts ...Facts) Option {
	return Option{"WithFacts", func(s *chosen) { s.facts = facts }}
}

// RequestID names a change, so that saying it twice makes it once: of Fork, ForkAll, ForkConversation, Record, CreateThread, Restore and all
// that writes documents.
func RequestID(id string) Option { return Option{"RequestID", func(s *chosen) { s.requestID = id }} }

// Expires is until when what was prepared can be executed, as the server has it when absent: of Prepare.
func Expires(at time.Time) Option { return Option{"Expires", func(s *chosen) { s.expires = at }} }

// PendingID is what the caller saw a coordination wait for, so that another question is not answered by mistake: of Answer.
func PendingID(id string) Option { return Option{"PendingID", func(s *chosen) { s.pendingID = id }} }

// ExpectedHead refuses a thread that others moved: of a conversation's Prompt, and of Restore.
func ExpectedHead(exchangeID string) Option {
	return Option{"ExpectedHead", func(s *chosen) { s.expectedHead = exchangeID }}
}

// MediaType is that of a document, application/octet-stream when absent: of Write and WriteStream.
func MediaType(mediaType string) Option {
	return Option{"MediaType", func(s *chosen) { s.mediaType = mediaType }}
}

// Metadata is data of your own that goes with a document and becomes a JSON object: of Write and WriteStream.
func Metadata(metadata any) Option {
	return Option{"Metadata", func(s *chosen) { s.metadata = metadata }}
}

// Etag is that of the version that was seen, so that a workspace that changed meanwhile is refused: of all that writes documents.
func Etag(etag string) Option { return Option{"Etag", func(s *chosen) { s.etag = etag }} }

// ContentBlake3 is BLAKE3 of the content, in hexadecimal, so that another content is refused: of WriteStream.
func ContentBlake3(hash string) Option {
	return Option{"ContentBlake3", func(s *chosen) { s.contentBlake3 = hash }}
}

var (
	turnOptions  = []string{"WithDeltas"}
	writeOptions = []string{"MediaType", "Metadata", "Etag", "RequestID"}
	loopOptions  = []string{"WithBeforeCall", "WithAfterCall", "WithDeltas", "WithGenerate", "OnToolDrift"}
)

// read gathers options, of those that a call takes.
func read(call string, options []Option, known ...string) (chosen, error) {
	var all chosen
	for _, option := range options {
		if option.apply == nil || !slices.Contains(known, option.name) {
			return all, invalid("%s does not take the option %q; it takes %s", call, option.name, strings.Join(known, ", "))
		}
		option.apply(&all)
	}
	return all, all.wrong
}
