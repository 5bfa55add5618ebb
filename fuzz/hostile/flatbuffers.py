"""A flatbuffer, written from the front to the back."""
import struct


class Tables:
    """The bytes so far, which begin with the `start` of the file."""

    def __init__(self, start):
        self.bytes = bytearray(start)

    def align(self, size):
        self.bytes += bytes(-len(self.bytes) % size)

    def point(self, at, target):
        struct.pack_into("<I", self.bytes, at, target - at)

    def table(self, at, slots):
        """Adds a table, to which the offset at `at` leads: for each slot a format of `struct` and a number. Returns places."""
        places, length = [0] * (max(slots) + 1), 4
        for slot, (form, _) in slots.items():
            width = struct.calcsize("<" + form)
            length += -length % width
            places[slot] = length
            length += width
        self.align(2)
        vtable = len(self.bytes)
        self.bytes += struct.pack(f"<{len(places) + 2}H", 4 + 2 * len(places), length, *places)
        self.align(8)
        table = len(self.bytes)
        self.point(at, table)
        self.bytes += struct.pack("<i", table - vtable) + bytes(length - 4)
        for slot, (form, number) in slots.items():
            struct.pack_into("<" + form, self.bytes, table + places[slot], number)
        return {slot: table + places[slot] for slot in slots}

    def vector(self, at, count, elements):
        """Adds a vector, to which the offset at `at` leads. Returns the place of its first element."""
        self.align(4)
        self.point(at, len(self.bytes))
        self.bytes += struct.pack("<I", count)
        first = len(self.bytes)
        self.bytes += elements
        return first

    def offsets(self, at, count):
        """Adds a vector of offsets. Returns their places."""
        first = self.vector(at, count, bytes(4 * count))
        return range(first, first + 4 * count, 4)

    def text(self, at, text):
        self.vector(at, len(text), text + b"\0")

    def numbers(self, at, numbers):
        self.vector(at, len(numbers), struct.pack(f"<{len(numbers)}i", *numbers))
