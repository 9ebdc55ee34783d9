-- Numbers: printing, reading, mathematics and packing, the same on Linux and on a node.
local state = 1
local function random()
  state = (state * 6364136223846793005 + 1442695040888963407)
  return state
end

for _, text in ipairs { "0x1p-1074", "1e308", "1e309", "-1e-400", "0x.1p4", "3", "3.0",
                        "0x7fffffffffffffff",
                        "9223372036854775808", "1e", "0x", " 10 ", "1_0", "inf", "nan" } do
  print(text, tonumber(text))
end
for _, format in ipairs { "%.14g", "%.17g", "%20.3f", "%-12.4e|", "%a", "%+.1A", "%#.0f",
                          "%.99f" } do
  for _, value in ipairs { 0.1, -1 / 3, 1e22, 1e-300, 2 ^ 53 + 1, 1 / 0, 12345.678 } do
    print(format, string.format(format, value))
  end
end
for _, format in ipairs { "%d", "%5d|", "%-5d|", "%05d", "%x", "%#X", "%o", "%i", "%+d" } do
  print(format, string.format(format, 42), string.format(format, math.mininteger))
end
print(string.format("%q %q %q", 1 / 3, math.mininteger, "a\0b\n\"\\"))
print(string.format("%s %10.3s| %c%c %%", "text", "abcdef", 72, 105))

for count = 1, 2000 do
  local bits = random()
  local double = string.unpack("d", string.pack("i8", bits))
  if double == double then
    local text = string.format("%.17g", double)
    assert(tonumber(text) == double, text)
    assert(tonumber(string.format("%a", double)) == double, text)
  end
  assert(math.tointeger(string.format("%d", bits)) == bits)
  assert(tonumber(string.format("0x%x", bits)) == bits)
end

for _, name in ipairs { "sin", "cos", "tan", "exp", "sqrt", "asin", "acos", "atan", "log", "floor",
                        "ceil" } do
  local line = { name }
  for _, value in ipairs { 0, 0.5, 1, -1, 3, 1e-9, 100 } do
    local good, result = pcall(math[name], value)
    if result ~= result then result = "not a number" end
    line[#line + 1] = type(result) == "float" and string.format("%.13g", result) or tostring(result)
  end
  print(table.concat(line, " "))
end
print(7 // 2, -7 // 2, 7 % -3, -7 % 3, 7.5 // 2, -7.5 % 2, 2 ^ 0.5, 1e15, 10 // 0.0)
print(pcall(function() return 1 // 0 end))
print(math.fmod(-7, 3), math.fmod(7, -3.5), math.modf(-3.7))
print(math.ult(1, -1), math.abs(math.mininteger))
print(1 << 63, 1 << 64, -1 >> 1, ~0, 5 & 3, 5 | 3, 5 ~ 3, "10" + 5, 10 .. 20)
print(string.pack(">I2 <i4 z s1 f", 258, -2, "text", "ab", 1.5):byte(1, -1))
print(string.unpack("<i3 >i5 B", "\1\2\255\0\0\0\1\0\7"))
print(math.type(1), math.type(1.0), math.type("1"), math.maxinteger + 1 == math.mininteger)
print(3 == 3.0, "3" == 3, 1 < 1.5, 2 ^ 53 == 2 ^ 53 + 1, math.huge > math.maxinteger)
