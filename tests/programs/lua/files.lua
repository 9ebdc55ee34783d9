-- Files by Lua's io and os: the same output on Linux and on a node.
local name = "lua-files.tmp"
local file = assert(io.open(name, "w"))
assert(file:setvbuf("full", 128))
for number = 1, 300 do
  assert(file:write(number, " ", number / 3, "\n"))
end
print(file:seek("cur"), file:seek("set", 2), file:seek("end"))
assert(file:close())
print(pcall(file.write, file, "x"))

local count, sum = 0, 0
for line in io.lines(name) do
  local whole, part = line:match("^(%d+) (%S+)$")
  count, sum = count + 1, sum + tonumber(whole) + tonumber(part)
end
print(count, string.format("%.6f", sum))

file = assert(io.open(name, "r+b"))
print(file:read("n", "n", "l", "L"))
print(#file:read("a"), file:read("a"), file:read("l"), file:read(0))
file:seek("set", 0)
file:write("X")
file:seek("set", 0)
print(file:read(5), file:read(0))
file:close()

file = assert(io.open(name, "a"))
file:write("end")
file:close()
file = io.open(name)
print(file:seek("end", -3), file:read("a"))
file:close()

print(io.open("no/such/file"))
print(pcall(io.open, name, "rz"))
print(os.rename(name, name .. "2"), os.rename(name, name .. "3"))
print(os.remove(name .. "2"), os.remove(name .. "2"))

local temporary = io.tmpfile()
temporary:write(("0123456789"):rep(5000))
print(temporary:seek("set", 49995), temporary:read("a"))
temporary:close()
local other = os.tmpname()
assert(io.open(other, "w")):close()
print(os.remove(other))

local kept = io.output()
io.output(name)
io.write("through io.write\n", 1, " ", 2.5, "\n")
io.close()
io.output(kept)
io.input(name)
print(io.read("l"), io.read("n"), io.read("n"), io.read("l"), io.read("l"))
io.close(io.input())
io.input(io.stdin)
print(io.type(io.stdin), io.type(file), io.type(3))
os.remove(name)
