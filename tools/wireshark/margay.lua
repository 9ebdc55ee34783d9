-- Wireshark's view of Margay's frames (docs/wire.md): every field, conversations by
-- sequence number, frames sent again, what acknowledgements say, message headers, checksums.
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

-- Checksums and tags: the other file, beside this one wherever that is.
local folder = debug.getinfo(1, "S").source:match("^@?(.*[/\\])") or ""
local sums = dofile(folder .. "margay_sums.lua")

local HEADER, MESSAGE, DATA_HEADER = 64, 128, 192
local ENTRY, BUNDLE_EACH = 8, 128
local TRAIN_HEADER = 16
local DATA, ACK, RESET, ANNOUNCE, GRANT, BULK, MARK, BUNDLE, TRAIN = 1, 2, 3, 4, 5, 6, 7, 8, 9
local KINDS = { [DATA] = "DATA", [ACK] = "ACK", [RESET] = "RESET", [ANNOUNCE] = "ANNOUNCE",
	[GRANT] = "GRANT", [BULK] = "BULK", [MARK] = "MARK", [BUNDLE] = "BUNDLE",
	[TRAIN] = "TRAIN" }
local WITH_MESSAGE = { [DATA] = true, [ANNOUNCE] = true, [BUNDLE] = true }
local WITH_PAYLOAD = { [DATA] = true, [BULK] = true, [ANNOUNCE] = true }
local WITH_TURN = { [GRANT] = true, [BULK] = true, [MARK] = true }
local ACKNOWLEDGES = { [DATA] = true, [ANNOUNCE] = true, [ACK] = true, [GRANT] = true,
	[BUNDLE] = true }
local PLACES = { [DATA] = "offset", [ANNOUNCE] = "part_bytes", [BUNDLE] = "messages" }
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

-- In a frame: name, offset, bytes, ProtoField's kind, what it is, how it is shown, names.
-- A bit field has its mask at the end.
local FRAME_FIELDS = {
	{ "version", 14, 1, "uint8", "Version", base.DEC },
	{ "kind", 15, 1, "uint8", "Kind", base.DEC, KINDS, 0x0f },
	{ "lane", 15, 1, "uint8", "Lane", base.DEC, LANES, 0x10 },
	{ "again", 15, 1, "bool", "AGAIN", 8, nil, 0x20 },
	{ "over", 15, 1, "bool", "OVER", 8, nil, 0x40 },
	{ "waits", 15, 1, "bool", "WAITS", 8, nil, 0x80 },
	{ "crc", 16, 4, "uint32", "Checksum of the header", base.HEX },
	{ "payload_crc", 20, 4, "uint32", "Checksum of the payload", base.HEX },
	{ "tag", 16, 8, "uint64", "Tag", base.HEX },
	{ "source", 24, 4, "uint32", "Incarnation of the source", base.DEC },
	{ "destination", 28, 4, "uint32", "Incarnation of the destination", base.DEC },
	{ "sequence", 32, 4, "uint32", "Sequence number", base.DEC },
	{ "ack", 36, 4, "uint32", "Acknowledgement", base.DEC },
	{ "selective", 40, 8, "uint64", "Selective acknowledgement", base.HEX },
	{ "window", 48, 2, "uint16", "Window", base.DEC },
	{ "bytes", 50, 2, "uint16", "Payload bytes in this frame", base.DEC },
	{ "reach", 50, 2, "uint16", "Sequence numbers to the last message", base.DEC },
	{ "offset", 52, 6, "uint64", "Their place in the message", base.DEC },
	{ "part_bytes", 52, 6, "uint64", "Payload bytes of a part", base.DEC },
	{ "messages", 52, 6, "uint64", "Messages in this frame", base.DEC },
	{ "refused", 52, 8, "uint64", "Refused", base.HEX },
	{ "turn", 52, 4, "uint32", "Turn", base.DEC },
	{ "part", 56, 4, "uint32", "Part", base.DEC },
	{ "until", 60, 4, "uint32", "Parts of the last message", base.DEC },
	{ "wanted", 60, 4, "uint32", "Wanted parts", base.HEX },
	{ "length", 58, 6, "uint64", "Payload bytes of the message", base.DEC },
}

local MESSAGE_FIELDS = {
	{ "operation", 0, 1, "uint8", "Operation", base.DEC, OPERATIONS },
	{ "ack_request", 1, 1, "uint8", "Acknowledgement wanted", base.DEC },
	{ "fail", 2, 1, "uint8", "How it failed", base.DEC, FAILS },
	{ "atomic_operation", 3, 1, "uint8", "Atomic operation", base.DEC, ATOMICS },
	{ "datatype", 4, 1, "uint8", "Datatype", base.DEC, TYPES },
	{ "reserved", 5, 3, "uint24", "Reserved", base.HEX },
	{ "source_nid", 8, 4, "uint32", "Source node", base.DEC },
	{ "source_pid", 12, 4, "uint32", "Source process", base.DEC },
	{ "target_nid", 16, 4, "uint32", "Target node", base.DEC },
	{ "target_pid", 20, 4, "uint32", "Target process", base.DEC },
	{ "uid", 24, 4, "uint32", "User of the source", base.DEC },
	{ "jid", 28, 4, "uint32", "Job of the source", base.DEC },
	{ "pt_index", 32, 4, "uint32", "Portal index", base.DEC },
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
	{ "counter_handle", 112, 8, "uint64", "Counter", base.HEX },
	{ "list_selector", 120, 4, "uint32", "Round of the barrier", base.DEC },
	{ "link", 124, 4, "uint32", "Nothing is acknowledged", base.DEC },
}

local fields, all = {}, {}

local function declare(prefix, list)
	for _, f in ipairs(list) do
		local name = prefix .. f[1]
		fields[name] = ProtoField[f[4]]("margay." .. name, f[5], f[6], f[7], f[8])
		all[#all + 1] = fields[name]
	end
end

-- What is not in the frame but follows from it.
local function derive(name, kind, what, ...)
	fields[name] = ProtoField[kind]("margay." .. name, what, ...)
	all[#all + 1] = fields[name]
end

declare("", FRAME_FIELDS)
declare("message.", MESSAGE_FIELDS)
derive("entry", "uint64", "Payload bytes of this message", base.DEC)
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
derive("wanted_part", "uint32", "Is wanted", base.DEC)
derive("refused_sequence", "uint32", "Was refused", base.DEC)
derive("retransmission", "framenum", "Sent before in", base.NONE)
derive("bad", "string", "Wrong")
margay.fields = all

local experts = {
	bad = ProtoExpert.new("margay.expert.bad", "Dropped by whoever receives it",
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

-- A conversation is one lane of one direction between one life of both nodes. A source
-- that does not yet know the destination's incarnation says 0; it is the conversation
-- that goes on with the number which it learns.
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

-- What is known of a frame only when all before it have been seen: once per frame. `place`:
-- that in its train, or 0.
local function follow(number, place, f)
	local key = number .. "/" .. place
	if not results[key] then
		local one = conversation(f)
		local result = { stream = one.stream }
		-- What has a number of its own: frames of the flow, and parts of long messages.
		local name = WITH_MESSAGE[f.kind] and f.sequence or
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

-- One of FRAME_FIELDS by its name; its range too.
local function add(tvb, tree, name)
	for _, one in ipairs(FRAME_FIELDS) do
		if one[1] == name then
			local range = at(tvb, one[2], one[3])
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

-- Checksums of version 1.
local function check_sums(tvb, tree, f)
	local covered = f.header + (f.kind == BUNDLE and f.payload or 0)
	local header = f.ethernet .. raw(tvb, 14, 2) .. "\0\0\0\0" .. raw(tvb, 20, covered - 20)
	local good, status = sums.checksum(header) == at(tvb, 16, 4):le_uint(), 2
	local payload_crc = at(tvb, 20, 4):le_uint()
	add_status(tvb, tree, "crc", good and 1 or 0)
	if not good then
		mark_bad(tree, f, "wrong checksum of the header")
	end
	if margay.prefs.payload and payload_crc ~= 0 and WITH_PAYLOAD[f.kind] then
		status = sums.crc32c(raw(tvb, f.header, f.payload)) == payload_crc and 1 or 0
	end
	add_status(tvb, tree, "payload_crc", status)
	if status == 0 then
		mark_bad(tree, f, "wrong checksum of the payload")
	end
end

-- The tag of version 2.
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

-- The payload of a bundle's first message, and the messages behind it.
local function dissect_bundle(tvb, tree, f)
	local length, place, last, n = at(tvb, 58, 6):le_uint64():tonumber(), f.header, tvb:len() +
		ETHERNET, 1
	while true do
		local padded = math.ceil(length / 8) * 8
		if length > BUNDLE_EACH or place + padded > last or
				raw(tvb, place + length, padded - length):find("[^%z]") then
			break
		end
		if length > 0 then
			tree:add(fields.payload, at(tvb, place, length))
		end
		place = place + padded
		if place == last and n == at(tvb, 52, 6):le_uint64():tonumber() then
			return
		elseif last - place < ENTRY + MESSAGE then
			break
		end
		tree:add_le(fields.entry, at(tvb, place, ENTRY))
		length, n = at(tvb, place, ENTRY):le_uint64():tonumber(), n + 1
		dissect_message(tvb, tree, place + ENTRY)
		place = place + ENTRY + MESSAGE
	end
	mark_bad(tree, f, "messages that cannot be")
end

-- A map of frames or parts, each of them also as a field of its own; as text.
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

-- What all kinds have, and then each its own.
local function dissect_fields(tvb, tree, f)
	for _, name in ipairs({ "source", "destination", "sequence", "ack" }) do
		add(tvb, tree, name)
	end
	f.sack = add_numbers(tvb, tree, "selective", "arrived", f.ack + 1)
	add(tvb, tree, "window")
	add(tvb, tree, f.kind == GRANT and "reach" or "bytes")
	if WITH_MESSAGE[f.kind] then
		add(tvb, tree, PLACES[f.kind])
		add(tvb, tree, "length")
	elseif f.kind == ACK and f.again then
		f.refused = add_numbers(tvb, tree, "refused", "refused_sequence", f.ack)
	elseif WITH_TURN[f.kind] then
		add(tvb, tree, "turn")
		add(tvb, tree, "part")
		if f.kind == GRANT and f.again then
			f.wanted = add_numbers(tvb, tree, "wanted", "wanted_part", f.part)
		else
			add(tvb, tree, "until")
		end
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

local SAYS = {
	[DATA] = function(f, way)
		return string.format("%s %s seq %d at %s/%s ack %d", f.name, way, f.sequence, f.place,
			f.length, f.ack)
	end,
	[ACK] = function(f, way)
		return string.format("ack %s %s ack %d window %d", way, LANES[f.lane], f.ack, f.window)
	end,
	[RESET] = function(f, way)
		return string.format("reset %s incarnation %d%s", way, f.source, f.over and " over" or "")
	end,
	[ANNOUNCE] = function(f, way)
		return string.format("%s %s seq %d announced 0/%s parts of %s ack %d", f.name, way,
			f.sequence, f.length, f.place, f.ack)
	end,
	[GRANT] = function(f, way)
		if f.over then
			return string.format("grant %s turn %d taken back ack %d", way, f.turn, f.ack)
		elseif f.again then
			return string.format("grant %s turn %d seq %d part %s to the ordinary card ack %d", way,
				f.turn, f.sequence, f.wanted, f.ack)
		end
		return string.format("grant %s turn %d seq %d part %d to seq %d part %d ack %d", way, f.turn,
			f.sequence, f.part, (f.sequence + f.bytes) % 0x100000000, f["until"], f.ack)
	end,
	[BULK] = function(f, way)
		return string.format("bulk %s turn %d seq %d part %d", way, f.turn, f.sequence, f.part)
	end,
	[BUNDLE] = function(f, way)
		return string.format("%s and %d more %s seq %d ack %d", f.name, f.place - 1, way,
			f.sequence, f.ack)
	end,
	[MARK] = function(f, way)
		return string.format("mark %s turn %d", way, f.turn)
	end,
}

local function info_of(f)
	local text = SAYS[f.kind](f, f.from .. " -> " .. f.to)
	if ACKNOWLEDGES[f.kind] then
		text = text .. (f.waits and " waits" or "") .. (f.sack ~= "" and " sack " .. f.sack or "")
	end
	return text .. (f.refused and " again " .. f.refused or "") ..
		(f.before and " [sent before in " .. f.before .. "]" or "") ..
		(f.bad and " [" .. f.bad .. "]" or "")
end

-- The fields that decide how the others are read.
local function read(tvb, ethernet)
	local flags = at(tvb, 15, 1):uint()
	local f = {
		ethernet = ethernet,
		from = ethernet:byte(11) * 256 + ethernet:byte(12),
		to = ethernet:byte(5) * 256 + ethernet:byte(6),
		version = at(tvb, 14, 1):uint(), kind = flags % 16,
		lane = math.floor(flags / 16) % 2, again = math.floor(flags / 32) % 2 == 1,
		over = math.floor(flags / 64) % 2 == 1, waits = flags >= 128,
		source = at(tvb, 24, 4):le_uint(), destination = at(tvb, 28, 4):le_uint(),
		sequence = at(tvb, 32, 4):le_uint(), ack = at(tvb, 36, 4):le_uint(),
		window = at(tvb, 48, 2):le_uint(), bytes = at(tvb, 50, 2):le_uint(),
		place = tostring(at(tvb, 52, 6):le_uint64()),
		turn = at(tvb, 52, 4):le_uint(), part = at(tvb, 56, 4):le_uint(),
		["until"] = at(tvb, 60, 4):le_uint(),
		length = tostring(at(tvb, 58, 6):le_uint64()),
	}
	f.header = WITH_MESSAGE[f.kind] and DATA_HEADER or HEADER
	f.payload = f.kind == GRANT and 0 or f.bytes
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
	for _, name in ipairs({ "version", "kind", "lane", "again", "over", "waits" }) do
		add(tvb, tree, name)
	end
	if not SAYS[f.kind] or (f.version ~= 1 and f.version ~= 2) then
		mark_bad(tree, f, "unknown version or kind")
		return string.format("version %d kind %d [unknown]", f.version, f.kind)
	end
	if tvb:len() + ETHERNET ~= f.header + f.payload or f.kind == BUNDLE and f.payload % 8 > 0 then
		mark_bad(tree, f, "not as long as it says")
		return KINDS[f.kind] .. " [not as long as it says]"
	end
	local check = f.version == 2 and check_tag or check_sums
	check(tvb, tree, f)
	dissect_fields(tvb, tree, f)
	if WITH_MESSAGE[f.kind] then
		f.name = dissect_message(tvb, tree, HEADER)
	elseif f.kind == RESET then
		tree:add_proto_expert_info(experts.reset)
	end
	if f.kind == BUNDLE then
		dissect_bundle(tvb, tree, f)
	elseif f.payload > 0 then
		tree:add(fields.payload, at(tvb, f.header, f.payload))
	end
	if not f.bad then
		add_conversation(tree, pinfo.number, place, f)
	end
	return info_of(f)
end

-- A frame by itself, or at this place in its train; its text for the column.
local function dissect_one(tvb, pinfo, root, ethernet, place)
	local tree = root:add(margay, tvb(), "Margay frame")
	if tvb:len() + ETHERNET < HEADER then
		mark_bad(tree, {}, "shorter than a header")
		return "[shorter than a header]"
	end
	return dissect(tvb, pinfo, tree, read(tvb, ethernet), place)
end

-- How long the frame at this place in a train is, or nil: none can be there.
local function length_in_train(tvb, ethernet, place)
	local rest = tvb:len() + ETHERNET - place
	if rest < HEADER or raw(tvb, place, ETHERNET) ~= ethernet or
			raw(tvb, place + 14, 1) ~= raw(tvb, 14, 1) then
		return nil
	end
	local kind = at(tvb, place + 15, 1):uint() % 16
	local length = (WITH_MESSAGE[kind] and DATA_HEADER or HEADER) +
		(kind == GRANT and 0 or at(tvb, place + 50, 2):le_uint())
	if kind == TRAIN or length > rest or length % 8 > 0 and length < rest then
		return nil
	end
	return length
end

local function dissect_train(tvb, pinfo, root, ethernet)
	local tree = root:add(margay, tvb(), "Margay train")
	local place, last, texts = TRAIN_HEADER, tvb:len() + ETHERNET, {}
	add(tvb, tree, "version")
	add(tvb, tree, "kind")
	repeat
		local length = length_in_train(tvb, ethernet, place)
		if not length then
			mark_bad(tree, {}, "no train of frames")
			texts[#texts + 1] = "[no train of frames]"
			break
		end
		texts[#texts + 1] = dissect_one(at(tvb, place + ETHERNET, length - ETHERNET):tvb(),
			pinfo, root, ethernet, place)
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
	local one = tvb:len() > 1 and at(tvb, 15, 1):uint() == TRAIN and dissect_train or dissect_one
	pinfo.cols.info = one(tvb, pinfo, root, ethernet, 0)
	return tvb:len()
end

DissectorTable.get("ethertype"):add(0x88b5, margay)
