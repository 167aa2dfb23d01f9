-- Sends the requests of a file in turn, `{}` replaced by a number that never comes twice, and
-- prints what became of them as JSON. In the file they are whole, with a zero byte behind each.
--
--   wrk -t 1 -s load.lua URL -- FILE FIRST_NUMBER

local texts = {}
local number = 0

function init(args)
  number = tonumber(args[2])
  local file = assert(io.open(args[1], "rb"))
  for text in file:read("*a"):gmatch("[^%z]+") do
    texts[#texts + 1] = text
  end
  file:close()
end

function request()
  number = number + 1
  return (texts[number % #texts + 1]:gsub("{}", number))
end

function done(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format(
    '\n{"requests": %d, "seconds": %.6f, "p50": %.3f, "p99": %.3f, "lost": %d}\n',
    summary.requests, summary.duration / 1e6,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
