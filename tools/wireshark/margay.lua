-- Wireshark's view of Margay's frames (docs/wire.md): every field, conversations by
-- sequence number, retransmissions, acknowledgements, message headers, checksums.
--
--   tshark -X lua_script:tools/wireshark/margay.lua -r FILE
--   wireshark -X lua_script:tools/wireshark/margay.lua FILE    (or copy both files of this
--                                      folder into the folder of personal Lua plugins)
--
-- FILE is what `margay run --pcap FILE` writes. Useful display filters:
--   margay.retransmission        margay.stream == 2       margay.message.operation == 1
--   margay.again                 margay.bad               margay.node == 3
-- With the preference margay.key (32 hexadecimal digits) tags are verified too.

local margay = Proto("margay", "Margay frame")

-- Checksums and tags: from the other file in the same folder.
local folder = debug.getinfo(1, "S").source:match("^@?(.*[/\\])") or ""
local sums = dofile(folder .. "margay_sums.lua")

local HEADER, ENTRY = 64, 16
local MESSAGE, PUT = 112, 32    -- a message's header; the short one of a plain put
local PUT_BYTES = 64            -- most payload of a plain put
local MSG, GRANT, BULK, RESET = 1, 2, 3, 4
local KINDS = { [MSG] = "MSG", [GRANT] = "GRANT", [BULK] = "BULK", [RESET] = "RESET" }
local LANES = { [0] = "requests", [1] = "answers" }
local OPERATIONS = { [0] = "NONE", "PUT", "GET", "ACK", "REPLY", "GETPUT", "ATOMIC",
	"FETCH_ATOMIC", "BARRIER" }
local FAILS = { [0] = "OK", "FAIL", "DROPPED" }
local ATOMICS = { [0] = "MIN", "MAX", "SUM", "BOR", "BAND", "BXOR", "SWAP", "CSWAP",
	"PROD", "LOR", "LAND", "LXOR", "NOOP" }
local TYPES = { [0] = "INT8", "UINT8", "INT16", "UINT16", "INT32", "UINT32", "INT64", "UINT64",
	"FLOAT", "DOUBLE" }
local STATUS = { [0] = "bad", [1] = "good", [2] = "not checked" }

-- ---- fields ----

-- In a frame: name, offset, bytes, ProtoField's kind, description, base, names.
-- A bit field has its mask at the end.
local FRAME_FIELDS = {
	{ "version", 14, 1, "uint8", "Version", base.DEC },
	{ "kind", 15, 1, "uint8", "Kind", base.DEC, KINDS, 0x07 },
	{ "announce", 15, 1, "bool", "ANNOUNCE", 8, nil, 0x08 },
	{ "lane", 15, 1, "uint8", "Lane", base.DEC, LANES, 0x10 },
	{ "again", 15, 1, "bool", "AGAIN", 8, nil, 0x20 },
	-- One bit with three meanings: RESET, GRANT, MSG.
	{ "over", 15, 1, "bool", "OVER", 8, nil, 0x40 },
	{ "ordinary", 15, 1, "bool", "ORDINARY", 8, nil, 0x40 },
	{ "puts", 15, 1, "bool", "PUTS", 8, nil, 0x40 },
	{ "crc", 16, 4, "uint32", "Checksum of the header", base.HEX },
	{ "payload_crc", 20, 4, "uint32", "Checksum of the payload", base.HEX },
	{ "tag", 16, 8, "uint64", "Tag", base.HEX },
	{ "source", 24, 4, "uint32", "Incarnation of the source", base.DEC },
	{ "destination", 28, 4, "uint32", "Incarnation of the destination", base.DEC },
	{ "sequence", 32, 4, "uint32", "Sequence number", base.DEC },
	{ "ack", 36, 4, "uint32", "Acknowledgement", base.DEC },
	{ "selective", 40, 8, "uint64", "Selective acknowledgement", base.HEX },
	{ "other_ack", 48, 4, "uint32", "Acknowledgement of the other lane", base.DEC },
	{ "window", 52, 1, "uint8", "Window", base.DEC },
	{ "other_window", 53, 1, "uint8", "Window of the other lane", base.DEC },
	{ "behind", 54, 2, "uint16", "Bytes behind the first 64", base.DEC },
	{ "messages", 56, 8, "uint64", "Messages in this frame", base.DEC },
	{ "refused", 56, 8, "uint64", "Refused", base.HEX },
	{ "part", 56, 4, "uint32", "Part", base.DEC },
	{ "parts", 60, 2, "uint16", "Parts of the last message", base.DEC },
	{ "reach", 62, 2, "uint16", "Sequence numbers to the last message", base.DEC },
	-- Those of the first message; each further one has them before its header too.
	{ "length", 64, 8, "uint64", "Payload bytes of the message", base.DEC },
	{ "offset", 72, 8, "uint64", "Place of this payload in it", base.DEC },
	{ "part_bytes", 72, 8, "uint64", "Payload bytes of a part", base.DEC },
}

local MESSAGE_FIELDS = {
	{ "operation", 0, 1, "uint8", "Operation", base.DEC, OPERATIONS },
	{ "ack_request", 1, 1, "uint8", "Acknowledgement wanted", base.DEC },
	{ "fail", 2, 1, "uint8", "How it failed", base.DEC, FAILS },
	{ "atomic_operation", 3, 1, "uint8", "Atomic operation", base.DEC, ATOMICS },
	{ "datatype", 4, 1, "uint8", "Datatype", base.DEC, TYPES },
	{ "reserved", 5, 2, "uint16", "Reserved", base.HEX },
	{ "link", 7, 1, "uint8", "Nothing is acknowledged", base.DEC },
	{ "source_nid", 8, 4, "uint32", "Source node", base.DEC },
	{ "source_pid", 12, 4, "uint32", "Source process", base.DEC },
	{ "target_nid", 16, 4, "uint32", "Target node", base.DEC },
	{ "target_pid", 20, 4, "uint32", "Target process", base.DEC },
	{ "uid", 24, 4, "uint32", "User of the source", base.DEC },
	{ "jid", 28, 4, "uint32", "Job of the source", base.DEC },
	{ "pt_index", 32, 4, "uint32", "Portal index, round of the barrier", base.DEC },
	{ "cookie", 36, 4, "uint32", "Access control entry", base.DEC },
	{ "match_bits", 40, 8, "uint64", "Match bits", base.HEX },
	{ "offset", 48, 8, "uint64", "Offset at the target", base.DEC },
	{ "length", 56, 8, "uint64", "Bytes requested", base.DEC },
	{ "mlength", 64, 8, "uint64", "Bytes manipulated", base.DEC },
	{ "md_handle", 72, 8, "uint64", "Initiator's descriptor", base.HEX },
	{ "eq_handle", 80, 8, "uint64", "Initiator's event queue", base.HEX },
	{ "op_handle", 88, 8, "uint64", "Initiator's operation record", base.HEX },
	{ "hdr_data", 96, 8, "uint64", "Header data", base.HEX },
	{ "sequence", 104, 8, "uint64", "Number of the operation", base.DEC },
}

-- The fields of a plain put's short header: name, offset, bytes.
local PUT_FIELDS = {
	{ "pt_index", 0, 4 }, { "cookie", 4, 4 }, { "match_bits", 8, 8 }, { "offset", 16, 8 },
	{ "hdr_data", 24, 8 },
}

local fields, all = {}, {}

local function declare(prefix, list)
	for _, f in ipairs(list) do
		local name = prefix .. f[1]
		fields[name] = ProtoField[f[4]]("margay." .. name, f[5], f[6], f[7], f[8])
		all[#all + 1] = fields[name]
	end
end

-- Values that are computed from the frame.
local function derive(name, kind, what, ...)
	fields[name] = ProtoField[kind]("margay." .. name, what, ...)
	all[#all + 1] = fields[name]
end

declare("", FRAME_FIELDS)
declare("message.", MESSAGE_FIELDS)
derive("payload", "bytes", "Payload")
derive("from", "uint16", "From node", base.DEC)
derive("from_card", "uint8", "From card", base.DEC)
derive("to", "uint16", "To node", base.DEC)
derive("to_card", "uint8", "To card", base.DEC)
derive("node", "uint16", "Node", base.DEC)
derive("crc.status", "uint8", "Status of the header's checksum", base.DEC, STATUS)
derive("payload_crc.status", "uint8", "Status of the payload's checksum", base.DEC, STATUS)
derive("tag.status", "uint8", "Status of the tag", base.DEC, STATUS)
derive("stream", "uint32", "Conversation", base.DEC)
derive("arrived", "uint32", "Has arrived", base.DEC)
derive("refused_sequence", "uint32", "Was refused", base.DEC)
derive("retransmission", "framenum", "Sent before in", base.NONE)
derive("bad", "string", "Wrong")
margay.fields = all

local experts = {
	bad = ProtoExpert.new("margay.expert.bad", "Dropped by its receiver",
		expert.group.CHECKSUM, expert.severity.ERROR),
	again = ProtoExpert.new("margay.expert.retransmission", "Sent again",
		expert.group.SEQUENCE, expert.severity.NOTE),
	reset = ProtoExpert.new("margay.expert.reset", "Another incarnation was meant",
		expert.group.SEQUENCE, expert.severity.WARN),
}
margay.experts = { experts.bad, experts.again, experts.reset }
margay.prefs.key = Pref.string("The job's key", "", "32 hexadecimal digits (margay run --auth)")
margay.prefs.payload = Pref.bool("Verify the payload's checksum", true, "if there is one")

-- The preference's key as 16 bytes, or nil.
local function job_key()
	local hex = margay.prefs.key
	if not hex or #hex ~= 32 or hex:find("%X") then
		return nil
	end
	return (hex:gsub("..", function(two) return string.char(tonumber(two, 16)) end))
end

-- ---- conversations ----

-- A conversation is one lane in one direction between one life of both nodes. A source
-- that does not yet know the destination's incarnation uses 0; its frames belong to the
-- conversation that continues with the number it learns.
local conversations, results, streams

function margay.init()
	conversations, results, streams = {}, {}, 0
end

local function conversation(f)
	local flow = string.format("%d>%d/%d/%d", f.from, f.to, f.lane, f.source)
	local lives = conversations[flow] or {}
	conversations[flow] = lives
	local one = lives[f.destination] or (f.destination ~= 0 and lives[0])
	if not one then
		one = { stream = streams, seen = {} }
		streams = streams + 1
	elseif f.destination ~= 0 and not lives[f.destination] then
		lives[0] = nil
	end
	lives[f.destination] = one
	return one
end

-- State that needs all earlier frames: computed once per frame. `place` is the offset in the
-- card's frame.
local function follow(number, place, f)
	local key = number .. "/" .. place
	if not results[key] then
		local one = conversation(f)
		local result = { stream = one.stream }
		-- Things with a sequence number: frames of the flow, and parts of long messages.
		local name = f.carries and f.sequence or
			f.kind == BULK and f.sequence .. "/" .. f.part
		if name then
			result.before = one.seen[name]
			one.seen[name] = result.before or number
		end
		results[key] = result
	end
	return results[key]
end

-- ---- dissecting ----

-- Ethernet's header is not in the dissector's buffer, which begins at the version.
local ETHERNET = 14
local eth_to, eth_from = Field.new("eth.dst"), Field.new("eth.src")

-- A range by its offset in the frame, and the bytes themselves.
local function at(tvb, offset, n)
	return tvb(offset - ETHERNET, n)
end

local function raw(tvb, offset, n)
	return n > 0 and tvb:raw(offset - ETHERNET, n) or ""
end

-- Numbers from `first` on whose bits are set, as a list and as text ("20-22, 25").
local function numbers(map, first)
	local list, ranges, from = {}, {}, nil
	for half, value in ipairs({ map:lower(), map:higher() }) do
		for bit = 0, 31 do
			if value % 2 == 1 then
				list[#list + 1] = (first + 32 * (half - 1) + bit) % 0x100000000
			end
			value = math.floor(value / 2)
		end
	end
	for i, n in ipairs(list) do
		from = from or n
		if list[i + 1] ~= n + 1 then
			ranges[#ranges + 1] = from == n and tostring(n) or from .. "-" .. n
			from = nil
		end
	end
	return list, table.concat(ranges, ", ")
end

-- One of FRAME_FIELDS by name, `behind` bytes after the first message's; and its range.
local function add(tvb, tree, name, further)
	for _, one in ipairs(FRAME_FIELDS) do
		if one[1] == name then
			local range = at(tvb, one[2] + (further or 0), one[3])
			return tree:add_le(fields[name], range), range
		end
	end
end

local function add_status(tvb, tree, name, status)
	local item, range = add(tvb, tree, name)
	item:append_text(" (" .. STATUS[status] .. ")")
	item:add(fields[name .. ".status"], range, status):set_generated()
end

local function mark_bad(tree, f, why)
	local item = tree:add(fields.bad, why)
	item:set_generated()
	item:add_proto_expert_info(experts.bad, why)
	f.bad = f.bad or why
end

-- Checksums of version 3.
local function check_sums(tvb, tree, f)
	local covered = f.header + (f.several and f.payload or 0)
	local header = f.ethernet .. raw(tvb, 14, 2) .. "\0\0\0\0" .. raw(tvb, 20, covered - 20)
	local good, status = sums.checksum(header, f.header) == at(tvb, 16, 4):le_uint(), 2
	local payload_crc = at(tvb, 20, 4):le_uint()
	add_status(tvb, tree, "crc", good and 1 or 0)
	if not good then
		mark_bad(tree, f, "wrong checksum of the header")
	end
	if margay.prefs.payload and payload_crc ~= 0 and f.payload > 0 and not f.several then
		status = sums.crc32c(raw(tvb, f.header, f.payload)) == payload_crc and 1 or 0
	end
	add_status(tvb, tree, "payload_crc", status)
	if status == 0 then
		mark_bad(tree, f, "wrong checksum of the payload")
	end
end

-- The tag of version 4.
local function check_tag(tvb, tree, f)
	local key, status = job_key(), 2
	if key then
		local tag = sums.siphash(key, f.ethernet .. raw(tvb, 14, 2) ..
			raw(tvb, 24, f.header + f.payload - 24))
		status = tag == at(tvb, 16, 8):le_uint64() and 1 or 0
	end
	add_status(tvb, tree, "tag", status)
	if status == 0 then
		mark_bad(tree, f, "wrong tag")
	end
end

-- A message header; returns its operation's name.
local function dissect_message(tvb, tree, place)
	local operation = at(tvb, place, 1):uint()
	local name = OPERATIONS[operation] or "operation " .. operation
	local sub = tree:add(margay, at(tvb, place, MESSAGE), "Message: " .. name)
	for _, one in ipairs(MESSAGE_FIELDS) do
		sub:add_le(fields["message." .. one[1]], at(tvb, place + one[2], one[3]))
	end
	return name
end

-- A plain put's short header. What follows from the frame is shown too, so that filters find the
-- put as any other.
local function dissect_put(tvb, tree, f, place)
	local sub = tree:add(margay, at(tvb, place, PUT), "Message: PUT")
	for _, known in ipairs({ { "operation", 1 }, { "ack_request", 0 }, { "source_nid", f.from },
			{ "target_nid", f.to }, { "length", at(tvb, place - ENTRY, 8):le_uint64() } }) do
		sub:add(fields["message." .. known[1]], known[2]):set_generated()
	end
	for _, one in ipairs(PUT_FIELDS) do
		sub:add_le(fields["message." .. one[1]], at(tvb, place + one[2], one[3]))
	end
	return "PUT"
end

-- Whether a frame with these flags and this number of messages may have such a first one.
local function is_sound(f, length, offset)
	if not f.puts then
		return f.messages == 1
	end
	return not f.announce and f.lane == 0 and length <= UInt64(PUT_BYTES) and offset == UInt64(0) and
		(f.several or length == UInt64(f.payload))
end

-- The messages of a frame, each after its length and its offset.
local function dissect_messages(tvb, tree, f)
	local place, last, n = HEADER, tvb:len() + ETHERNET, 0
	local header = ENTRY + (f.puts and PUT or MESSAGE)
	while last - place >= header do
		local length, offset = at(tvb, place, 8):le_uint64(), at(tvb, place + 8, 8):le_uint64()
		add(tvb, tree, "length", place - HEADER)
		add(tvb, tree, f.announce and "part_bytes" or "offset", place - HEADER)
		local name = f.puts and dissect_put(tvb, tree, f, place + ENTRY) or
			dissect_message(tvb, tree, place + ENTRY)
		place, n = place + header, n + 1
		if n == 1 then
			f.name, f.length, f.place = name, tostring(length), tostring(offset)
			if not is_sound(f, length, offset) then
				break
			end
		end
		local bytes, padded = last - place, last - place
		if f.several then
			bytes = length:tonumber()
			padded = math.ceil(bytes / 8) * 8
			if bytes > PUT_BYTES or offset ~= UInt64(0) or place + padded > last or
					raw(tvb, place + bytes, padded - bytes):find("[^%z]") then
				break
			end
		end
		if bytes > 0 then
			tree:add(fields.payload, at(tvb, place, bytes))
		end
		place = place + padded
		if place == last and n == f.messages then
			return
		end
	end
	mark_bad(tree, f, "messages that cannot be")
end

-- A bitmap of frames or parts as text; each of them also becomes a field.
local function add_numbers(tvb, tree, name, each, first)
	local item, range = add(tvb, tree, name)
	local map = range:len() == 8 and range:le_uint64() or UInt64(range:le_uint())
	local list, text = numbers(map, first)
	if #list > 0 then
		item:append_text(" (" .. text .. ")")
	end
	for _, n in ipairs(list) do
		item:add(fields[each], range, n):set_generated()
	end
	return text
end

-- Fields of all kinds, then those of each kind.
local function dissect_fields(tvb, tree, f)
	for _, name in ipairs({ "source", "destination", "sequence", "ack" }) do
		add(tvb, tree, name)
	end
	f.sack = add_numbers(tvb, tree, "selective", "arrived", f.ack)
	for _, name in ipairs({ "other_ack", "window", "other_window", "behind" }) do
		add(tvb, tree, name)
	end
	if f.kind == MSG and not f.carries and f.again then
		f.refused = add_numbers(tvb, tree, "refused", "refused_sequence", f.ack)
	elseif f.kind == MSG then
		add(tvb, tree, "messages")
	elseif f.kind ~= RESET then
		add(tvb, tree, "part")
	end
	if f.kind == GRANT then
		add(tvb, tree, "parts")
		add(tvb, tree, "reach")
		f.parts, f.reach = at(tvb, 60, 2):le_uint(), at(tvb, 62, 2):le_uint()
	end
end

local function add_conversation(tree, number, place, f)
	local result = follow(number, place, f)
	tree:add(fields.stream, result.stream):set_generated()
	if result.before then
		local item = tree:add(fields.retransmission, result.before)
		item:set_generated()
		item:add_proto_expert_info(experts.again)
		f.before = result.before
	end
end

-- The fields of a MSG without its acknowledgements.
local function says_messages(f, way)
	if not f.carries then
		return "ack " .. way .. " " .. LANES[f.lane]
	elseif f.several then
		return string.format("%s and %d more %s seq %d", f.name, f.messages - 1, way, f.sequence)
	elseif f.announce then
		return string.format("%s %s seq %d announced 0/%s parts of %s", f.name, way, f.sequence,
			f.length, f.place)
	end
	return string.format("%s %s seq %d at %s/%s", f.name, way, f.sequence, f.place, f.length)
end

local SAYS = {
	[MSG] = says_messages,
	[GRANT] = function(f, way)
		return string.format("grant%s %s seq %d part %d to seq %d part %d%s",
			f.again and " again" or "", way, f.sequence, f.part,
			(f.sequence + f.reach) % 0x100000000,
			f.parts + (f.reach == 0 and f.part or 0),
			f.bit6 and " to the ordinary card" or "")
	end,
	[BULK] = function(f, way)
		return string.format("bulk%s %s seq %d part %d", f.again and " again" or "", way,
			f.sequence, f.part)
	end,
	[RESET] = function(f, way)
		return string.format("reset %s incarnation %d%s", way, f.source, f.bit6 and " over" or "")
	end,
}

-- The acknowledgements of MSG and GRANT. A window of 0 says nothing about the other lane.
local function says_acks(f)
	local text = " ack " .. f.ack .. (f.kind == MSG and not f.carries and
		" window " .. f.window or "") ..
		(f.sack ~= "" and " sack " .. f.sack or "")
	return text .. (f.other_window > 0 and " other " .. f.other_ack or "")
end

local function info_of(f)
	return SAYS[f.kind](f, f.from .. " -> " .. f.to) ..
		((f.kind == MSG or f.kind == GRANT) and says_acks(f) or "") ..
		(f.refused and " again " .. f.refused or "") ..
		(f.before and " [sent before in " .. f.before .. "]" or "") ..
		(f.bad and " [" .. f.bad .. "]" or "")
end

-- The length of this frame's header.
local function header_of(f)
	return f.carries and HEADER + ENTRY + (f.puts and PUT or MESSAGE) or HEADER
end

-- The fields that decide how the others are read.
local function read(tvb, ethernet)
	local flags = at(tvb, 15, 1):uint()
	local f = {
		ethernet = ethernet,
		from = ethernet:byte(11) * 256 + ethernet:byte(12),
		to = ethernet:byte(5) * 256 + ethernet:byte(6),
		version = at(tvb, 14, 1):uint(), kind = flags % 8,
		announce = math.floor(flags / 8) % 2 == 1, lane = math.floor(flags / 16) % 2,
		again = math.floor(flags / 32) % 2 == 1, bit6 = math.floor(flags / 64) % 2 == 1,
		source = at(tvb, 24, 4):le_uint(), destination = at(tvb, 28, 4):le_uint(),
		sequence = at(tvb, 32, 4):le_uint(), ack = at(tvb, 36, 4):le_uint(),
		other_ack = at(tvb, 48, 4):le_uint(), window = at(tvb, 52, 1):uint(),
		other_window = at(tvb, 53, 1):uint(), behind = at(tvb, 54, 2):le_uint(),
		part = at(tvb, 56, 4):le_uint(),
		messages = at(tvb, 56, 8):le_uint64():tonumber(),
	}
	f.puts, f.carries = f.kind == MSG and f.bit6, f.kind == MSG and f.behind > 0
	f.header = header_of(f)
	f.payload = HEADER + f.behind - f.header
	f.several = f.puts and f.carries and f.messages ~= 1
	return f
end

local function add_nodes(tree, f)
	tree:add(fields.from, f.from):set_generated()
	tree:add(fields.from_card, f.ethernet:byte(10)):set_generated()
	tree:add(fields.to, f.to):set_generated()
	tree:add(fields.to_card, f.ethernet:byte(4)):set_generated()
	tree:add(fields.node, f.from):set_hidden()
	tree:add(fields.node, f.to):set_hidden()
end

local function dissect(tvb, pinfo, tree, f, place)
	add_nodes(tree, f)
	local bit6 = f.kind == MSG and "puts" or f.kind == GRANT and "ordinary" or "over"
	for _, name in ipairs({ "version", "kind", "announce", "lane", "again", bit6 }) do
		add(tvb, tree, name)
	end
	if not SAYS[f.kind] or (f.version ~= 3 and f.version ~= 4) then
		mark_bad(tree, f, "unknown version or kind")
		return string.format("version %d kind %d [unknown]", f.version, f.kind)
	end
	if tvb:len() + ETHERNET ~= HEADER + f.behind or f.payload < 0 or
			f.several and f.payload % 8 > 0 then
		mark_bad(tree, f, "not as long as it says")
		return KINDS[f.kind] .. " [not as long as it says]"
	end
	local check = f.version == 4 and check_tag or check_sums
	check(tvb, tree, f)
	dissect_fields(tvb, tree, f)
	if f.carries then
		dissect_messages(tvb, tree, f)
	elseif f.puts then
		mark_bad(tree, f, "messages that cannot be")
	elseif f.payload > 0 then
		tree:add(fields.payload, at(tvb, f.header, f.payload))
	end
	if f.kind == RESET then
		tree:add_proto_expert_info(experts.reset)
	end
	if not f.bad then
		add_conversation(tree, pinfo.number, place, f)
	end
	return info_of(f)
end

-- The frame at this offset in the card's frame: its text for the column, and whether it is valid.
local function dissect_one(tvb, pinfo, root, ethernet, place)
	local tree = root:add(margay, tvb(), "Margay frame")
	if tvb:len() + ETHERNET < HEADER then
		mark_bad(tree, {}, "shorter than a header")
		return "[shorter than a header]", false
	end
	local f = read(tvb, ethernet)
	local text = dissect(tvb, pinfo, tree, f, place)
	return text, not f.bad
end

-- The length of the frame at this offset: the whole rest if no other can follow.
local function length_at(tvb, place)
	local rest = tvb:len() + ETHERNET - place
	if rest < HEADER then
		return rest
	end
	local length = HEADER + at(tvb, place + 54, 2):le_uint()
	return (length % 8 > 0 or length > rest) and rest or length
end

-- Whether another frame can be at this offset: with the same source and destination.
local function follows(tvb, ethernet, place)
	return tvb:len() + ETHERNET - place >= HEADER and raw(tvb, place, ETHERNET) == ethernet and
		raw(tvb, place + 14, 1) == raw(tvb, 14, 1)
end

-- One frame, or several consecutive ones.
local function dissect_all(tvb, pinfo, root, ethernet)
	local place, last, texts, taken = 0, tvb:len() + ETHERNET, {}, true
	repeat
		if place > 0 and not (taken and follows(tvb, ethernet, place)) then
			local tree = root:add(margay, at(tvb, place, last - place), "Margay frame")
			local why = taken and "no frame that can follow" or "behind what cannot be read"
			mark_bad(tree, {}, why)
			texts[#texts + 1] = "[" .. why .. "]"
			break
		end
		local length = length_at(tvb, place)
		texts[#texts + 1], taken = dissect_one(
			at(tvb, place + ETHERNET, length - ETHERNET):tvb(), pinfo, root, ethernet, place)
		place = place + length
	until place >= last
	return table.concat(texts, " | ")
end

function margay.dissector(tvb, pinfo, root)
	local to, from = eth_to(), eth_from()
	local ethernet = to.range:bytes():raw() .. from.range:bytes():raw() .. "\x88\xb5"
	if ethernet:sub(1, 3) ~= "\x02MG" or ethernet:sub(7, 9) ~= "\x02MG" then
		return 0
	end
	pinfo.cols.protocol = "Margay"
	pinfo.cols.info = dissect_all(tvb, pinfo, root, ethernet)
	return tvb:len()
end

DissectorTable.get("ethertype"):add(0x88b5, margay)
