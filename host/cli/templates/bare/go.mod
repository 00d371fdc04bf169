module bare-protocol

go 1.24
