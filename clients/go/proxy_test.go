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
		go pass(near, far)
		go pass(far, near)
	}
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
