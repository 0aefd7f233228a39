-- As get.lua, asked by whoever has the answer already.
local threads = 0
local requests = {}

function setup(thread)
  threads = threads + 1
  thread:set("seed", threads)
end

function init(arguments)
  math.randomseed(seed)
  local headers = { ["Host"] = wrk.headers["Host"], ["If-None-Match"] = "*" }
  for number = 1, 1000 do
    requests[number] = wrk.format(arguments[2], (arguments[1]:gsub("%%d", tostring(number))), headers)
  end
end

function request()
  return requests[math.random(1000)]
end
