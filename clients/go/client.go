package antiphon

// The connection. Knows nothing of what is asked.

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"math"
	"os"
	"strings"
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
	carrier       carrier
	attachFor     time.Duration
	exchanges     pb.ExchangeServiceClient
	coordinations pb.CoordinationServiceClient
	threads       pb.ThreadServiceClient
	runs          pb.RunServiceClient
	graph         pb.GraphServiceClient
	tools         pb.ToolServiceClient
	catalog       pb.CatalogServiceClient
	workspaces    pb.WorkspaceServiceClient
	memories      *memories
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
	}
	if said.keepalive > 0 {
		all = append(all, grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: said.keepalive, Timeout: 20 * time.Second}))
	}
	connection, err := grpc.NewClient(target, append(all, said.connection...)...)
	if err != nil {
		return nil, invalid("address %s: %v", address, err)
	}
	return clientOf(connection, carrier{connection, said.token, said.provider}, said.attachFor, newMemories()), nil
}

func clientOf(connection *grpc.ClientConn, carrier carrier, attachFor time.Duration, memories *memories) *Client {
	return &Client{
		connection: connection, carrier: carrier, attachFor: attachFor, memories: memories,
		exchanges: pb.NewExchangeServiceClient(carrier), coordinations: pb.NewCoordinationServiceClient(carrier),
		threads: pb.NewThreadServiceClient(carrier), runs: pb.NewRunServiceClient(carrier), graph: pb.NewGraphServiceClient(carrier),
		tools: pb.NewToolServiceClient(carrier), catalog: pb.NewCatalogServiceClient(carrier),
		workspaces: pb.NewWorkspaceServiceClient(carrier),
	}
}

// WithProviderCredential is the same client for calls whose provider gets this credential in place of the server's own. It shares the
// connection: closing one closes both.
func (c *Client) WithProviderCredential(credential string) *Client {
	carrier := c.carrier
	carrier.provider = credential
	return clientOf(c.connection, carrier, c.attachFor, c.memories)
}

// carrier is a connection over which every call carries the caller's keys.
type carrier struct {
	grpc.ClientConnInterface
	token    string
	provider string
}

func (c carrier) with(ctx context.Context) context.Context {
	if c.token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+c.token)
	}
	if c.provider != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "antiphon-provider-credential", c.provider)
	}
	return ctx
}

// Invoke makes a call.
func (c carrier) Invoke(ctx context.Context, method string, asked, answer any, options ...grpc.CallOption) error {
	return c.ClientConnInterface.Invoke(c.with(ctx), method, asked, answer, options...)
}

// NewStream opens a stream.
func (c carrier) NewStream(ctx context.Context, about *grpc.StreamDesc, method string, options ...grpc.CallOption) (grpc.ClientStream, error) {
	return c.ClientConnInterface.NewStream(c.with(ctx), about, method, options...)
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
func (c *Client) Raw() grpc.ClientConnInterface { return c.carrier }

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
