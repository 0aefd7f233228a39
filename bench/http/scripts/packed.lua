-- As get.lua, asked by whoever takes gzip.
function init(arguments)
  wrk.headers["Accept-Encoding"] = "gzip"
  wrk.path = arguments[1]
end
