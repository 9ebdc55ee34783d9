-- The language: errors, coroutines, collection of garbage, to-be-closed variables, deep recursion.
print(pcall(error, { code = 3 }), select("#", pcall(error)))
print(pcall(function() local x = nil; return x.field end))
print(xpcall(function() error("inner", 2) end, function(message) return "handled: " .. message end))

local function deep(count) return count == 0 and 0 or 1 + deep(count - 1) end
print(deep(150000))
local function endless() return 1 + endless() end
local good, message = pcall(endless)
print(good, message:match("stack overflow"))
print(pcall(string.rep, "x", -1), #string.rep("ab", 1000, ","))
local nested = string.rep("(", 190) .. "1" .. string.rep(")", 190)
print(load("return " .. nested)())
print(load("return " .. string.rep("(", 300) .. "1"))
print(select(2, load("x = = 1", "=chunk")), select(2, load("goto away")))

local function numbers(count)
  return coroutine.wrap(function() for at = 1, count do coroutine.yield(at) end end)
end
local sum = 0
for number in numbers(10000) do sum = sum + number end
print(sum)
local threads = {}
for at = 1, 2000 do
  threads[at] = coroutine.create(function(a) local b = coroutine.yield(a + at); error(b) end)
end
for at = 1, 2000 do assert(select(2, coroutine.resume(threads[at], 1)) == at + 1) end
for at = 1, 2000 do assert(not coroutine.resume(threads[at], "end")) end
print(coroutine.status(threads[7]), coroutine.isyieldable(), coroutine.close(threads[7]))
print(coroutine.wrap(function()
  return pcall(function() coroutine.yield(1); error("later") end)
end)())

local weak = setmetatable({}, { __mode = "k" })
local finalized = 0
for at = 1, 1000 do
  weak[{}] = at
  setmetatable({}, { __gc = function() finalized = finalized + 1 end })
end
collectgarbage()
collectgarbage()
print(next(weak), finalized)
for _, mode in ipairs { "generational", "incremental" } do
  collectgarbage(mode)
  local kept = {}
  for at = 1, 50000 do kept[at % 100 + 1] = { tostring(at), { at } } end
  print(mode, #kept, kept[1][1])
end
collectgarbage()
print(collectgarbage("count") < 4000)

do
  local closed <close> = setmetatable({}, { __close = function() print("closed") end })
  local constant <const> = 5
  print("open", constant)
end

local class = setmetatable({}, { __index = function(_, key) return key .. "?" end,
  __call = function(_, ...) return select("#", ...) end, __len = function() return 42 end,
  __eq = function() return true end, __concat = function(a, b) return "joined" end,
  __tostring = function() return "class" end, __lt = function() return true end })
print(class.name, class(1, nil, nil), #class, class .. 1, tostring(class), class < class)

local text = "The quick brown fox"
print(text:gsub("%w+", string.upper), text:find("b(r)(o)"), text:match("()quick()"))
print(text:gsub("(%w+) (%w+)", "%2 %1"), ("x"):rep(3, "-"), text:byte(-1), text:reverse())
print(("%bxy"):len(), ("f(a(b)c)d"):match("%b()"), ("THE (quick) fox"):find("%((%a+)%)"))
print(utf8.char(228, 8364, 128512), utf8.len("ä€😀"), utf8.codepoint("€", 1))
print(utf8.len("\xff"))
local words = {}
for word in text:gmatch("%a+") do words[#words + 1] = word end
table.sort(words, function(a, b) return a:lower() > b:lower() end)
print(table.concat(words, ","), table.unpack({ 1, 2, 3 }, 2), #table.move({ 1, 2, 3 }, 1, 3, 3))
local list = {}
for at = 1, 20000 do list[at] = (at * 7919) % 20011 end
table.sort(list)
for at = 2, #list do assert(list[at - 1] <= list[at]) end

print(os.time({ year = 2024, month = 2, day = 30, hour = 12 })
  - os.time({ year = 2024, month = 3, day = 1, hour = 12 }))
print(os.date("!%Y-%m-%d %H:%M:%S %a %b %j", 1700000000), os.getenv("NO_SUCH_NAME"))
print(os.setlocale("C"), os.setlocale("xx_XX"), os.setlocale(nil), type(os.clock()))
print(pcall(io.popen, "true"))
package.path = "margay/?.lua"
print(pcall(require, "nothing.here"))
print(type(string.dump(deep)), load(string.dump(function(a) return a * 2 end), "dump", "b")(21))
for at = 1, 3 do if at == 2 then goto continue end io.write(at, " ") ::continue:: end
print()
os.exit(true, true)
