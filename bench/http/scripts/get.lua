-- Asks for the path in the first argument, its %d replaced by a random number of 1 to 1,000, with the method in the
-- second. The requests are built beforehand, so that choosing one costs the load generator as little as possible.
local threads = 0
local requests = {}

function setup(thread)
  threads = threads + 1
  thread:set("seed", threads)
end

function init(arguments)
  math.randomseed(seed)
  for number = 1, 1000 do
    requests[number] = wrk.format(arguments[2], (arguments[1]:gsub("%%d", tostring(number))))
  end
end

function request()
  return requests[math.random(1000)]
end
