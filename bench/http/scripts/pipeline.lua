-- As get.lua for one path, sixteen requests at once.
function init(arguments)
  local one = wrk.format(arguments[2], arguments[1])
  requests = one:rep(16)
end

function request()
  return requests
end
