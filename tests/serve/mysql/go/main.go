// A Go service as it is, with the endpoints of net/http/pprof, for go_node.test.
package main

import (
	"fmt"
	"net"
	"net/http"
	_ "net/http/pprof"
	"runtime"
	"sync"
)

var kept [][]byte
var lock sync.Mutex

func keepSome() {
	for i := 0; i < 2000; i++ {
		kept = append(kept, make([]byte, 10000))
	}
}

func spin() {
	x := 0.0
	for {
		lock.Lock()
		for i := 0; i < 100000; i++ {
			x += float64(i) * 1.5
		}
		lock.Unlock()
	}
}

func main() {
	runtime.MemProfileRate = 4096
	runtime.SetMutexProfileFraction(1)
	keepSome()
	runtime.GC() // a heap profile is as of the last one
	runtime.GC()
	go spin()
	go spin()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println("port", l.Addr().(*net.TCPAddr).Port)
	panic(http.Serve(l, nil))
}
