-- As get.lua, asked by programs that take gzip.
wrk.headers["Accept-Encoding"] = "gzip"
dofile(debug.getinfo(1, "S").source:match("@(.*/)") .. "get.lua")
