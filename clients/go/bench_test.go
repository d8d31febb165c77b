package antiphon_test

// What Reply costs beside its raw stub. Not among the tests: go test -run '^$' -bench Reply.

import (
	"slices"
	"testing"
	"time"

	"antiphon"
	"antiphon/antiphontest"
	pb "antiphon/gen/antiphonv1"
)

// BenchmarkReply asks the same server in one run by Reply and by its raw stub, in turns, and reports the ratio of the medians. The answers
// are there at once, so that what is measured is the client's part as far as it can be.
func BenchmarkReply(b *testing.B) {
	ctx, question := b.Context(), "What is it known for?"
	server, err := antiphontest.Run(antiphontest.Config{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := server.Stop(); err != nil {
			b.Error(err)
		}
	}()
	client, err := antiphon.Dial(server.Address)
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	start := must(client.Capture(ctx, text("Name a city by the sea.")))(b)
	stub := pb.NewExchangeServiceClient(client.Raw())
	raw := func() error {
		_, err := stub.Continue(ctx, &pb.ContinueRequest{
			From:  &pb.ContinueRequest_Exchange{Exchange: &pb.ExchangePoint{ExchangeId: start.ExchangeID}},
			Input: &pb.ContinueRequest_Request{Request: &pb.ExecutionRequest{Text: question}},
		})
		return err
	}
	reply := func() error {
		_, err := client.Reply(ctx, start, text(question))
		return err
	}
	took := [2][]time.Duration{}
	for b.Loop() {
		for i, call := range []func() error{raw, reply} {
			begun := time.Now()
			if err := call(); err != nil {
				b.Fatal(err)
			}
			took[i] = append(took[i], time.Since(begun))
		}
	}
	median := func(found []time.Duration) float64 {
		slices.Sort(found)
		return float64(found[len(found)/2])
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(took[0])/1000, "us-raw")
	b.ReportMetric(median(took[1])/1000, "us-reply")
	b.ReportMetric(median(took[1])/median(took[0]), "reply/raw")
}
