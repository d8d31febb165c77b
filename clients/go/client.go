package antiphon

// The connection. Knows nothing of what is asked.

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"math"
	"os"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"

	pb "antiphon/gen/antiphonv1"
)

// Client talks to one server. Several goroutines may use it at once.
type Client struct {
	connection    *grpc.ClientConn
	attachFor     time.Duration
	exchanges     pb.ExchangeServiceClient
	coordinations pb.CoordinationServiceClient
	threads       pb.ThreadServiceClient
	runs          pb.RunServiceClient

	lock     sync.Mutex
	memories map[string]*memory
}

// TLS is how the connection is secured: with the system's authorities, unless CA names a file of others. With a certificate and
// its key, files too, the client shows who it is.
type TLS struct {
	CA          string
	Certificate string
	Key         string
	// ServerName is what the server's certificate must say, where that is not the address.
	ServerName string
}

type dialing struct {
	token      string
	provider   string
	tls        *TLS
	attachFor  time.Duration
	keepalive  time.Duration
	connection []grpc.DialOption
}

// DialOption says how to connect.
type DialOption func(*dialing)

// WithToken gives the caller's key.
func WithToken(token string) DialOption { return func(d *dialing) { d.token = token } }

// WithProviderCredential gives a key that the server uses for its provider in place of its own.
func WithProviderCredential(credential string) DialOption {
	return func(d *dialing) { d.provider = credential }
}

// WithTLS secures the connection.
func WithTLS(files TLS) DialOption { return func(d *dialing) { d.tls = &files } }

// WithAttachFor says for how long a broken coordination stream is attached again before that is an error; a minute when absent.
func WithAttachFor(wait time.Duration) DialOption { return func(d *dialing) { d.attachFor = wait } }

// WithKeepalive says after how much silence a connection is asked whether it still is there; a minute when absent, zero never
// asks. A callback may take days, and a connection that died meanwhile says nothing.
func WithKeepalive(silence time.Duration) DialOption {
	return func(d *dialing) { d.keepalive = silence }
}

// WithGRPC adds options of gRPC's own, credentials for instance.
func WithGRPC(options ...grpc.DialOption) DialOption {
	return func(d *dialing) { d.connection = append(d.connection, options...) }
}

// Dial makes a client of the server at host and port, or the same after http:// or https://. It connects when it is used.
func Dial(address string, options ...DialOption) (*Client, error) {
	said := dialing{attachFor: time.Minute, keepalive: time.Minute}
	for _, option := range options {
		option(&said)
	}
	target, secure := strings.CutPrefix(address, "https://")
	if secure && said.tls == nil {
		said.tls = &TLS{}
	}
	target = strings.TrimRight(strings.TrimPrefix(target, "http://"), "/")
	if target == "" {
		return nil, invalid("the address is empty: give host and port")
	}
	transport := insecure.NewCredentials()
	if said.tls != nil {
		var err error
		if transport, err = said.tls.credentials(); err != nil {
			return nil, err
		}
	}
	var sent []string
	if said.token != "" {
		sent = append(sent, "authorization", "Bearer "+said.token)
	}
	if said.provider != "" {
		sent = append(sent, "antiphon-provider-credential", said.provider)
	}
	all := []grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		// Nothing is read from the environment or a name server's records that the caller did not ask for.
		grpc.WithNoProxy(), grpc.WithDisableServiceConfig(),
		// One exchange may be larger than gRPC's 4 MiB; the server has limits of its own.
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32), grpc.MaxCallSendMsgSize(math.MaxInt32)),
		// A server that restarts is found again within two seconds, not two minutes.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 2 * time.Second},
			MinConnectTimeout: 5 * time.Second,
		}),
		grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, asked, answer any, connection *grpc.ClientConn, next grpc.UnaryInvoker, options ...grpc.CallOption) error {
			return next(metadata.AppendToOutgoingContext(ctx, sent...), method, asked, answer, connection, options...)
		}),
		grpc.WithChainStreamInterceptor(func(ctx context.Context, about *grpc.StreamDesc, connection *grpc.ClientConn, method string, next grpc.Streamer, options ...grpc.CallOption) (grpc.ClientStream, error) {
			return next(metadata.AppendToOutgoingContext(ctx, sent...), about, connection, method, options...)
		}),
	}
	if said.keepalive > 0 {
		all = append(all, grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: said.keepalive, Timeout: 20 * time.Second}))
	}
	connection, err := grpc.NewClient(target, append(all, said.connection...)...)
	if err != nil {
		return nil, invalid("address %s: %v", address, err)
	}
	return &Client{
		connection: connection, attachFor: said.attachFor, memories: map[string]*memory{},
		exchanges: pb.NewExchangeServiceClient(connection), coordinations: pb.NewCoordinationServiceClient(connection),
		threads: pb.NewThreadServiceClient(connection), runs: pb.NewRunServiceClient(connection),
	}, nil
}

// FromEnv makes a client of the server that ANTIPHON_SERVER names, else of the one at its usual place on this machine, with the
// key in ANTIPHON_TOKEN if there is one. Nothing else here reads the environment.
func FromEnv(options ...DialOption) (*Client, error) {
	address := os.Getenv("ANTIPHON_SERVER")
	if address == "" {
		address = "127.0.0.1:7373"
	}
	return Dial(address, append([]DialOption{WithToken(os.Getenv("ANTIPHON_TOKEN"))}, options...)...)
}

// Close closes the connection.
func (c *Client) Close() error { return c.connection.Close() }

// Raw is the connection, for the clients in antiphon/gen/antiphonv1. What is called over it carries the same keys.
func (c *Client) Raw() grpc.ClientConnInterface { return c.connection }

func (t *TLS) credentials() (credentials.TransportCredentials, error) {
	config := &tls.Config{ServerName: t.ServerName, MinVersion: tls.VersionTLS12}
	if t.CA != "" {
		text, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, invalid("tls: %v", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, invalid("tls: %s has no certificate in PEM", t.CA)
		}
	}
	if (t.Certificate == "") != (t.Key == "") {
		return nil, invalid("tls: a certificate and its key go together: give both or none")
	}
	if t.Certificate != "" {
		pair, err := tls.LoadX509KeyPair(t.Certificate, t.Key)
		if err != nil {
			return nil, invalid("tls: %v", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return credentials.NewTLS(config), nil
}
