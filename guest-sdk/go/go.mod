module sdk

go 1.24
