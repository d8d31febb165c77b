package antiphon_test

// A connection that can be cut: passes bytes between a client and a server, until told otherwise. Knows nothing of what they say.

import (
	"io"
	"net"
	"sync"
	"testing"
)

type proxy struct {
	address  string
	listener net.Listener
	lock     sync.Mutex
	target   string
	open     []*net.TCPConn
	// limit is after how many bytes of clients it cuts; 0 for not at all.
	limit int
}

func newProxy(t *testing.T, target string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	made := &proxy{address: listener.Addr().String(), listener: listener, target: target}
	go made.accept()
	t.Cleanup(made.close)
	return made
}

func (p *proxy) accept() {
	for {
		near, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.lock.Lock()
		target := p.target
		p.lock.Unlock()
		far, err := net.Dial("tcp", target)
		if err != nil {
			_ = near.Close()
			continue
		}
		p.lock.Lock()
		p.open = append(p.open, near.(*net.TCPConn), far.(*net.TCPConn))
		p.lock.Unlock()
		go pass(near, counting{far, p})
		go pass(far, near)
	}
}

// counting is the way from a client, on which bytes are counted.
type counting struct {
	net.Conn
	proxy *proxy
}

func (c counting) Write(data []byte) (int, error) {
	c.proxy.lock.Lock()
	before := c.proxy.limit
	c.proxy.limit = max(0, before-len(data))
	c.proxy.lock.Unlock()
	if before > 0 && before <= len(data) {
		c.proxy.cut()
	}
	return c.Conn.Write(data)
}

// cutAfter cuts, once, when clients have sent so many more bytes.
func (p *proxy) cutAfter(bytes int) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.limit = bytes
}

// left is how many of these bytes were not sent yet.
func (p *proxy) left() int {
	p.lock.Lock()
	defer p.lock.Unlock()
	return p.limit
}

func pass(from, to net.Conn) {
	_, _ = io.Copy(to, from)
	_ = from.Close()
	_ = to.Close()
}

// cut resets every connection that is open.
func (p *proxy) cut() {
	p.lock.Lock()
	defer p.lock.Unlock()
	for _, end := range p.open {
		_ = end.SetLinger(0)
		_ = end.Close()
	}
	p.open = nil
}

func (p *proxy) point(target string) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.target = target
}

// close lets nobody in any more.
func (p *proxy) close() {
	_ = p.listener.Close()
	p.cut()
}
