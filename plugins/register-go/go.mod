module register-go

go 1.24
