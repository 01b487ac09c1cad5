// A service with Go's own profiling pages and something to see on each of them.
package main

import (
	"fmt"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"
)

var (
	kept  [][]byte
	table = map[string]string{}
	lock  sync.Mutex
	sink  uint64
)

//go:noinline
func hashRows(until time.Time) {
	for time.Now().Before(until) {
		for i := uint64(0); i < 20000; i++ {
			sink = sink*31 + i
		}
	}
}

//go:noinline
func buildStrings(until time.Time) {
	for time.Now().Before(until) {
		lock.Lock()
		table[fmt.Sprint(len(table)%1000)] = strings.Repeat("x", 200)
		lock.Unlock()
	}
}

//go:noinline
func keepPages(n int) {
	for i := 0; i < n; i++ {
		kept = append(kept, make([]byte, 100000))
	}
}

func main() {
	runtime.SetMutexProfileFraction(1)
	runtime.SetBlockProfileRate(1)
	keepPages(200)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(listener.Addr())
	go func() {
		for {
			hashRows(time.Now().Add(30 * time.Millisecond))
			buildStrings(time.Now().Add(20 * time.Millisecond))
		}
	}()
	go func() {
		for {
			buildStrings(time.Now().Add(10 * time.Millisecond))
			time.Sleep(5 * time.Millisecond)
		}
	}()
	http.Serve(listener, nil)
}
