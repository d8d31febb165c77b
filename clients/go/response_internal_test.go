package antiphon

// Pieces of an answer over connections that break, with the connection played.

import (
	"context"
	"fmt"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "antiphon/gen/antiphonv1"
)

func attempt(number uint32, kind pb.AttemptKind) *pb.Progress {
	return &pb.Progress{Event: &pb.Progress_AttemptStarted{AttemptStarted: &pb.AttemptStarted{Number: number, Kind: kind}}}
}

func piece(text string) *pb.Progress {
	return &pb.Progress{Event: &pb.Progress_Delta{Delta: &pb.Delta{Delta: &pb.Delta_Text{Text: &pb.TextDelta{Text: text}}}}}
}

// told is what an answer tells whose connections say these things in turn; each but the last breaks.
func told(t *testing.T, whole string, connections ...[]*pb.Progress) string {
	t.Helper()
	text := func(said *string) string { return *said }
	played := answer[string](nil, text, func(context.Context) (func() (*pb.Progress, *string, error), error) {
		said := connections[0]
		connections = connections[1:]
		return func() (*pb.Progress, *string, error) {
			if len(said) > 0 {
				next := said[0]
				said = said[1:]
				return next, nil, nil
			}
			if len(connections) > 0 {
				return nil, nil, status.Error(codes.Unavailable, "it broke")
			}
			return nil, &whole, nil
		}, nil
	})
	found := ""
	for delta, err := range played.deltas(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		found += fmt.Sprintf("%s:%s ", delta.Kind, delta.Text)
	}
	return found
}

// The calls to the model that were given up are told again, too, and their pieces were once taken for those of the last.
func TestAConnectionThatIsMadeAgainTellsNothingTwice(t *testing.T) {
	first, again := attempt(1, pb.AttemptKind_ATTEMPT_KIND_FIRST), attempt(2, pb.AttemptKind_ATTEMPT_KIND_REPAIR)
	found := told(t, "short.",
		[]*pb.Progress{first, piece("a long answer"), again, piece("sho")},
		[]*pb.Progress{first, piece("a long answer"), again, piece("sho"), piece("rt")},
	)
	if wanted := "text:a long answer attempt: text:sho text:rt text:. "; found != wanted {
		t.Fatalf("it is %q, not %q", found, wanted)
	}
}

func TestAnotherAttemptOfARunCountsFromOneAgain(t *testing.T) {
	found := told(t, "here",
		[]*pb.Progress{attempt(1, pb.AttemptKind_ATTEMPT_KIND_FIRST), attempt(2, pb.AttemptKind_ATTEMPT_KIND_RETRY)},
		[]*pb.Progress{attempt(1, pb.AttemptKind_ATTEMPT_KIND_FIRST), piece("here")},
	)
	if found != "text:here " {
		t.Fatal(found)
	}
}
