module river

go 1.25
