module etcd-raft

go 1.24

// The versions are those that the library wants; what is compiled is what is installed.
require (
	github.com/gogo/protobuf v1.3.2 // indirect
	github.com/golang/protobuf v1.4.3 // indirect
	go.etcd.io/etcd v0.0.0
	register-go v0.0.0
)

replace go.etcd.io/etcd => /usr/share/gocode/src/go.etcd.io/etcd // apt-get install --no-install-recommends golang-etcd-server-dev

replace github.com/gogo/protobuf => /usr/share/gocode/src/github.com/gogo/protobuf // comes with golang-etcd-server-dev

replace github.com/golang/protobuf => /usr/share/gocode/src/github.com/golang/protobuf // comes with golang-etcd-server-dev

// The SDK for Go.
replace register-go => ../../plugins/register-go

// Tools that gogo/protobuf names and nothing here uses.
exclude (
	github.com/kisielk/errcheck v1.5.0
	github.com/kisielk/gotool v1.0.0
	golang.org/x/tools v0.0.0-20210106214847-113979e3529a
)
