module lopsided/fleet

go 1.26.0
