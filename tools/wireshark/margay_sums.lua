-- The three checksums of Margay's frames (docs/wire.md), for margay.lua, which loads this file
-- from its own folder: CRC32C of payload, the checksum of headers, SipHash with the job's key.
-- It does nothing by itself. Texts are Lua strings of bytes.

-- Lua 5.2 has bit32, Wireshark's older ones bit, Lua 5.3 and later operators.
local bits = bit32 or bit
local xor = bits and bits.bxor or load("return function(a, b) return a ~ b end")()
local band = bits and bits.band or load("return function(a, b) return a & b end")()
local shift = bits and bits.rshift or load("return function(a, n) return a >> n end")()

local TABLE = {}
for value = 0, 255 do
	local sum = value
	for _ = 1, 8 do
		local half = shift(sum, 1)
		sum = sum % 2 == 1 and xor(half, 0x82f63b78) or half
	end
	TABLE[value] = sum
end

local function crc32c(text)
	local sum = 0xffffffff
	for at = 1, #text do
		sum = xor(TABLE[band(xor(sum, text:byte(at)), 255)], shift(sum, 8))
	end
	return xor(sum, 0xffffffff) % 0x100000000
end

local function word(text, at)
	local a, b, c, d, e, f, g, h = text:byte(at, at + 7)
	return UInt64(a + b * 0x100 + c * 0x10000 + d * 0x1000000,
		e + f * 0x100 + g * 0x10000 + h * 0x1000000)
end

-- The lower and upper half of a product.
local function product(x, y)
	local low, high = UInt64(x:lower()), UInt64(x:higher())
	local a, b = UInt64(y:lower()), UInt64(y:higher())
	local first, middle = low * a, high * a
	local carried = low * b + UInt64(first:higher()) + UInt64(middle:lower())
	return UInt64(first:lower(), carried:lower()),
		high * b + UInt64(middle:higher()) + UInt64(carried:higher())
end

-- The checksum of a header of so many bytes, or of a whole batch that begins with it.
local function checksum(text, header)
	local factor = UInt64(0x7f4a7c15, 0x9e3779b9)
	local low, high = UInt64(0x8aed2a6b, 0xb7e15162), factor
	for n = 1, header, 16 do
		low, high = product(low:bxor(word(text, n)), high:bxor(word(text, n + 8)))
	end
	local state = low:bxor(high)
	for n = header + 1, #text, 8 do
		low, high = product(state:bxor(word(text, n)), factor)
		state = low:bxor(high)
	end
	return xor(state:lower(), state:higher()) % 0x100000000
end

-- SipHash-2-4.
local function siphash(key, text)
	local low, high = word(key, 1), word(key, 9)
	local a = low:bxor(UInt64.fromhex("736f6d6570736575"))
	local b = high:bxor(UInt64.fromhex("646f72616e646f6d"))
	local c = low:bxor(UInt64.fromhex("6c7967656e657261"))
	local d = high:bxor(UInt64.fromhex("7465646279746573"))
	local function round()
		a = a + b
		b = b:rol(13):bxor(a)
		a = a:rol(32)
		c = c + d
		d = d:rol(16):bxor(c)
		a = a + d
		d = d:rol(21):bxor(a)
		c = c + b
		b = b:rol(17):bxor(c)
		c = c:rol(32)
	end
	text = text .. string.rep("\0", 7 - #text % 8) .. string.char(#text % 256)
	for at = 1, #text, 8 do
		local m = word(text, at)
		d = d:bxor(m)
		round()
		round()
		a = a:bxor(m)
	end
	c = c:bxor(UInt64(255))
	for _ = 1, 4 do
		round()
	end
	return a:bxor(b):bxor(c):bxor(d)
end

return { crc32c = crc32c, checksum = checksum, siphash = siphash }
