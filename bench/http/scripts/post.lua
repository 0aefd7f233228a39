-- POST of a form with a random author out of 1,000 to the path in the first argument.
local threads = 0
local requests = {}

function setup(thread)
  threads = threads + 1
  thread:set("seed", threads)
end

function init(arguments)
  math.randomseed(seed)
  local headers = { ["Host"] = wrk.headers["Host"], ["Content-Type"] = "application/x-www-form-urlencoded" }
  for number = 1, 1000 do
    local form = "author=user" .. number .. "&body=The+quick+brown+fox+jumps+over+the+lazy+dog"
    requests[number] = wrk.format("POST", arguments[1], headers, form)
  end
end

function request()
  return requests[math.random(1000)]
end
