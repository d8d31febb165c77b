package antiphon_test

// How a connection is made: addresses, TLS, keys, the environment, and calls that are made again. The peer is a small server here, since
// only its ear matters.

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"antiphon"
	"antiphon/antiphontest"
	pb "antiphon/gen/antiphonv1"
)

// ear tells what it was called with.
type ear struct {
	pb.UnimplementedRunServiceServer
	lock  sync.Mutex
	heard []metadata.MD
	fail  []codes.Code
}

func (e *ear) Get(ctx context.Context, asked *pb.RunServiceGetRequest) (*pb.RunServiceGetResponse, error) {
	e.lock.Lock()
	defer e.lock.Unlock()
	said, _ := metadata.FromIncomingContext(ctx)
	e.heard = append(e.heard, said)
	if len(e.fail) > 0 {
		code := e.fail[0]
		e.fail = e.fail[1:]
		return nil, status.Error(code, "not now")
	}
	run := &pb.Run{RunId: asked.GetRunId(), State: 99, Usage: &pb.Usage{Completeness: 98}}
	return &pb.RunServiceGetResponse{Run: run}, nil
}

func (e *ear) listen(t *testing.T, options ...grpc.ServerOption) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(options...)
	pb.RegisterRunServiceServer(server, e)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

// secured shows a certificate for antiphon.test and wants one of the same authority.
func secured(t *testing.T) grpc.ServerOption {
	t.Helper()
	pair, err := tls.LoadX509KeyPair("testdata/certificate.pem", "testdata/key.pem")
	if err != nil {
		t.Fatal(err)
	}
	authority, err := os.ReadFile("testdata/certificate.pem")
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	return grpc.Creds(credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
	}))
}

func connect(t *testing.T, address string, options ...antiphon.DialOption) *antiphon.Client {
	t.Helper()
	return dial(t, &antiphontest.Server{Address: address}, options...)
}

func TestBothSidesShowWhoTheyAre(t *testing.T) {
	ear := &ear{}
	files := antiphon.TLS{
		CA: "testdata/certificate.pem", Certificate: "testdata/certificate.pem", Key: "testdata/key.pem", ServerName: "antiphon.test",
	}
	client := connect(t, "https://"+ear.listen(t, secured(t)), antiphon.WithTLS(files), antiphon.WithToken("key-1"),
		antiphon.WithProviderCredential("sk-1"), antiphon.WithKeepalive(10*time.Second))
	run := must(client.Run(t.Context(), "r"))(t)
	// Words of a newer server.
	equal(t, run.State, "unknown_99")
	equal(t, run.Usage.Completeness, "unknown_98")
	equal(t, ear.heard[0].Get("authorization"), []string{"Bearer key-1"})
	equal(t, ear.heard[0].Get("antiphon-provider-credential"), []string{"sk-1"})
	must(client.WithProviderCredential("sk-2").Run(t.Context(), "r"))(t)
	must(client.Run(t.Context(), "r"))(t)
	equal(t, ear.heard[1].Get("antiphon-provider-credential"), []string{"sk-2"})
	equal(t, ear.heard[1].Get("authorization"), []string{"Bearer key-1"})
	equal(t, ear.heard[2].Get("antiphon-provider-credential"), []string{"sk-1"})
}

func TestAServerThatNobodyVouchesForIsNotTalkedTo(t *testing.T) {
	ear := &ear{}
	client := connect(t, "https://"+ear.listen(t, secured(t)), antiphon.WithToken("key-1"))
	_, err := client.Run(t.Context(), "r")
	refused(t, err, codes.Unavailable, "")
	equal(t, len(ear.heard), 0)
}

func TestFilesThatAreNoneAreSaidAtOnce(t *testing.T) {
	for _, files := range []antiphon.TLS{{CA: "nowhere.pem"}, {CA: "README.md"}, {Certificate: "testdata/certificate.pem"}} {
		_, err := antiphon.Dial("https://127.0.0.1:1", antiphon.WithTLS(files))
		refused(t, err, codes.InvalidArgument, "")
	}
	_, err := antiphon.Dial("")
	refused(t, err, codes.InvalidArgument, "")
}

func TestACallIsMadeAgainWhereThatHelpsAndOnlyThere(t *testing.T) {
	ear := &ear{fail: []codes.Code{codes.Unavailable, codes.Unavailable}}
	client := connect(t, "http://"+ear.listen(t)+"/", antiphon.WithKeepalive(0))
	equal(t, must(client.Run(t.Context(), "r"))(t).RunID, "r")
	equal(t, len(ear.heard), 3)
	ear.fail = []codes.Code{codes.ResourceExhausted}
	_, err := client.Run(t.Context(), "r")
	refused(t, err, codes.ResourceExhausted, "")
	equal(t, len(ear.heard), 4)
	equal(t, status.Code(err), codes.ResourceExhausted)
	ear.fail = []codes.Code{codes.Unavailable, codes.Unavailable, codes.Unavailable, codes.Unavailable}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = client.Run(ctx, "r")
	// The next try would come too late.
	refused(t, err, codes.Unavailable, "")
	equal(t, len(ear.heard), 5)
}

func TestTheEnvironmentIsReadOnlyWhenAsked(t *testing.T) {
	ear := &ear{}
	t.Setenv("ANTIPHON_SERVER", "http://"+ear.listen(t))
	t.Setenv("ANTIPHON_TOKEN", "key-2")
	client := must(antiphon.FromEnv())(t)
	defer client.Close()
	must(client.Run(t.Context(), "r"))(t)
	equal(t, ear.heard[0].Get("authorization"), []string{"Bearer key-2"})
}

func TestWordsThatANewerServerHasSurvive(t *testing.T) {
	message := antiphon.MessageOf(&pb.Message{Role: 79})
	equal(t, message.Role, "unknown_79")
	client := dial(t, shared)
	_, err := client.Record(t.Context(), []antiphon.Message{{Role: "unknown_79", Text: "x"}, antiphon.Assistant("y")})
	// It went out as it is, and the server has its say.
	var said *antiphon.Error
	if !errors.As(err, &said) || said.Reason == "" {
		t.Fatalf("it gave %v", err)
	}
	_, err = client.Record(t.Context(), []antiphon.Message{{Role: "narrator", Text: "x"}})
	refused(t, err, codes.InvalidArgument, "")
}

// S4-68: a call that nobody waits for any more costs nothing more.
func TestACancelledContextReachesTheProvider(t *testing.T) {
	reached, left := make(chan struct{}, 2), make(chan struct{}, 2)
	provider := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, asked *http.Request) {
		buffer := make([]byte, 1<<16)
		for {
			if _, err := asked.Body.Read(buffer); err != nil {
				break
			}
		}
		reached <- struct{}{}
		<-asked.Context().Done()
		left <- struct{}{}
	}))
	t.Cleanup(provider.Close)
	server := antiphontest.Start(t, antiphontest.Config{Config: fmt.Sprintf(`
default_profile = "slow"
[profiles.slow]
backend = "slow"
model = "slow-1"
[backends.slow]
kind = "openai"
base_url = "%s/v1"
`, provider.URL)})
	client := dial(t, server)
	for _, ask := range []func(context.Context) error{
		func(ctx context.Context) error {
			_, err := client.Capture(ctx, text("hello"))
			return err
		},
		func(ctx context.Context) error {
			_, err := client.Chain(ctx, text("hello"), nil)
			return err
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- ask(ctx) }()
		<-reached
		cancel()
		<-left
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Fatalf("it gave %v", err)
		}
	}
}
