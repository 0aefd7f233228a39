-- As get.lua, asked by browsers, which take all codings.
wrk.headers["Accept-Encoding"] = "gzip, deflate, br, zstd"
dofile(debug.getinfo(1, "S").source:match("@(.*/)") .. "get.lua")
